/**
 * The description of a resource: one name in the store, with its namespace. Invariant: immutable.
 *
 * @module
 */
import type { Resource } from "../internal/hook.ts";
import { type Namespace, namespaceOf } from "./namespace.ts";
import type { Backend } from "./clients/backend.ts";
import { keysOf, type Kind, type RedisOptions, type Settings, settingsOf } from "./options.ts";
import type { StoredResource } from "./store/store.ts";

/** The namespace and the settings of one object, whose resources may have any names. */
export interface Setup {
  readonly namespace: Namespace;
  readonly settings: Settings;
}

/** Creates the setup, and checks the options. */
export function setupOf(backend: Backend, options: RedisOptions | undefined): Setup {
  const settings = settingsOf(options);
  return { namespace: namespaceOf(backend, settings.prefix), settings };
}

/** The part of a resource needed by every call, for a lease or a start. */
export interface CallSpec {
  readonly namespace: Namespace;
  /** The hook's resource. */
  readonly resource: Resource;
  /** Its name in errors: `lock "orders"`. */
  readonly what: string;
}

export interface ResourceSpec extends StoredResource, CallSpec {}

/**
 * Describes a name.
 *
 * @param stored The kind of its keys, and the text at their end.
 * @param what Its name in errors.
 * @param resource The resource, without the facts that all classes share.
 * @param several For a name with several holders: the limit of their weights, and that of the caller. Default weight: 1.
 */
export function specOf(
  { namespace, settings }: Setup,
  stored: readonly [kind: Kind, text: string],
  what: string,
  resource: Resource,
  several?: { readonly limit: number; readonly weight?: number },
): ResourceSpec {
  const keys = keysOf(settings.prefix, ...stored);
  const { limit, weight = 1 } = several ?? { limit: 1 };
  const facts = { isRemote: true, isExclusive: weight === limit, sharedState: namespace.sharedStateOf(keys) };
  const layout = several === undefined ? "lock" : "semaphore";
  return { namespace, keys, layout, settings, resource: { ...resource, ...facts }, what, weight, limit };
}
