/**
 * All names of one prefix over one client: they share a subscription and the renewal of leases. Invariants: one
 * namespace for each backend and prefix; all namespaces of a backend share its store.
 *
 * @module
 */
import { Subscription } from "./call/subscription.ts";
import { type Backend, STORE } from "./clients/backend.ts";
import { LeaseRenewer } from "./lease/lease_renewer.ts";
import { onceFor } from "../internal/once.ts";
import { RedisStore } from "./store/redis_store.ts";
import type { Store } from "./store/store.ts";

export class Namespace {
  readonly prefix: string;
  readonly store: Store;
  readonly subscription: Subscription;
  readonly renewer: LeaseRenewer;

  constructor(store: Store, prefix: string) {
    this.prefix = prefix;
    this.store = store;
    this.subscription = new Subscription(store, prefix);
    this.renewer = new LeaseRenewer(store);
  }

  /** For diagnostics: what all resources have in common that share their state in the store. */
  sharedStateOf(keys: readonly [string, ...string[]]): string {
    return `${this.store.ids.process} ${keys[0]}`;
  }
}

const storeOf = onceFor((backend: Backend & { readonly [STORE]?: Store }) => backend[STORE] ?? new RedisStore(backend));
/** By their prefixes. */
const namespacesOf = onceFor((_: Backend) => new Map<string, Namespace>());

/** Returns the namespace of a backend and a prefix. */
export function namespaceOf(backend: Backend, prefix: string): Namespace {
  const namespaces = namespacesOf(backend);
  const namespace = namespaces.get(prefix) ?? new Namespace(storeOf(backend), prefix);
  namespaces.set(prefix, namespace);
  return namespace;
}
