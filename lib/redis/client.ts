/**
 * The parts shared by all names of one prefix over one client: the subscription and the renewal of leases. Invariants:
 * one client for each backend and prefix; all clients of a backend share its store.
 *
 * @module
 */
import { Subscription } from "./call/subscription.ts";
import { type Backend, STORE } from "./clients/backend.ts";
import { LeaseRenewer } from "./lease/lease_renewer.ts";
import { onceFor } from "../internal/once.ts";
import { RedisStore } from "./store/redis_store.ts";
import type { Store } from "./store/store.ts";

let clients = 0;

export class Client {
  readonly #number = ++clients;
  readonly store: Store;
  readonly subscription: Subscription;
  readonly renewer: LeaseRenewer;

  constructor(store: Store, prefix: string) {
    this.store = store;
    this.subscription = new Subscription(store, prefix);
    this.renewer = new LeaseRenewer(store);
  }

  /** The group of all resources that share their state in the store, for diagnostics. */
  groupOf(keys: readonly [string, ...string[]]): string {
    return `${this.#number} ${keys[0]}`;
  }
}

/** The clients of a backend by their prefixes. */
const clientsOf = onceFor((backend: Backend & { readonly [STORE]?: Store }) => {
  const store = backend[STORE] ?? new RedisStore(backend);
  const byPrefix = new Map<string, Client>();
  return (prefix: string) => {
    const client = byPrefix.get(prefix) ?? new Client(store, prefix);
    byPrefix.set(prefix, client);
    return client;
  };
});

/** Returns the client of a backend and a prefix. */
export function clientOf(backend: Backend, prefix: string): Client {
  return clientsOf(backend)(prefix);
}
