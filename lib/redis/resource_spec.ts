/**
 * The description of a resource: one name in the store, with its namespace. Invariant: immutable.
 *
 * @module
 */
import type { Resource } from "../internal/hook.ts";
import { type Namespace, namespaceOf } from "./namespace.ts";
import type { Backend } from "./clients/backend.ts";
import { keysOf, type Kind, type RedisOptions, type Settings, settingsOf } from "./options.ts";
import type { StoredName } from "./store/store.ts";

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

export interface ResourceSpec extends StoredName, CallSpec {}

/** The part of a description that differs between classes. */
export interface SpecParts extends Pick<StoredName, "holders">, Pick<CallSpec, "what"> {
  /** The kind of its keys, and the text at their end. */
  readonly stored: readonly [kind: Kind, text: string];
  /** The resource, without the facts that all classes share. */
  readonly resource: Resource;
  readonly weight?: number;
  readonly limit?: number;
}

export function specOf({ namespace, settings }: Setup, parts: SpecParts): ResourceSpec {
  const { stored: [kind, text], weight = 1, limit = 1, what, holders } = parts;
  const keys = keysOf(settings.prefix, kind, text);
  const resource = { ...parts.resource, isRemote: true, isExclusive: weight === limit, group: namespace.groupOf(keys) };
  return { namespace, holders, keys, settings, resource, what, weight, limit };
}
