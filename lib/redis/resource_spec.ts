/**
 * The description of a resource: one name in the store, with the client that uses it. Invariant: immutable.
 *
 * @module
 */
import type { Resource } from "../internal/hook.ts";
import type { Client } from "./client.ts";
import { keysOf, type Kind, type Settings } from "./options.ts";
import type { StoredName } from "./store/store.ts";

export interface ResourceSpec extends StoredName {
  readonly client: Client;
  /** As the hook knows it. */
  readonly resource: Resource;
}

/** The part of a description that differs from class to class. */
export interface SpecParts extends Pick<StoredName, "holders" | "what"> {
  /** The kind of its keys, and the text that they end with. */
  readonly stored: readonly [kind: Kind, text: string];
  /** Without the facts that are the same for all. */
  readonly resource: Resource;
  readonly weight?: number;
  readonly limit?: number;
}

export function specOf(client: Client, settings: Settings, parts: SpecParts): ResourceSpec {
  const { stored: [kind, text], weight = 1, limit = 1, what, holders } = parts;
  const keys = keysOf(settings.prefix, kind, text);
  const resource = { ...parts.resource, isRemote: true, isExclusive: weight === limit, group: client.groupOf(keys) };
  return { client, clock: client.store.clockOf(keys), holders, keys, settings, resource, what, weight, limit };
}
