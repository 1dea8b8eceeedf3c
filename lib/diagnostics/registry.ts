/**
 * The present waits and holds. Invariant: an entry is in one set of its group exactly while it waits or holds, and a
 * group is known exactly while it has an entry.
 *
 * @module
 */
import type { Resource } from "../internal/hook.ts";
import { Entry, Group, type Origin } from "./entry.ts";

export class Registry {
  /** By what identifies the acquisition, also after its end: a Condition takes a hold back for the same guard. */
  readonly #entries = new WeakMap<object, Entry>();
  readonly #groups = new Map<unknown, Group>();

  /** Those with a waiter or a holder. */
  get groups(): Iterable<Group> {
    return this.#groups.values();
  }

  groupOf(resource: Resource): Group | undefined {
    return this.#groups.get(resource.group ?? resource);
  }

  /** The latest acquisition of that guard, waiter or lease. */
  entryOf(call: object): Entry | undefined {
    return this.#entries.get(call);
  }

  /** A new entry, which neither waits nor holds yet. */
  add(id: number, resource: Resource, call: object, permits: number, origin: Origin): Entry {
    const group = this.groupOf(resource) ?? new Group(resource.group ?? resource);
    const entry = new Entry(id, resource, permits, origin, group, 0);
    this.#entries.set(call, entry);
    return entry;
  }

  /** Ends the entry's present state and begins the next; returns how long the former lasted, in ms. */
  move(entry: Entry, state: Entry["state"], now: number): number {
    const { group, since } = entry;
    const lasted = entry.state === "ended" ? 0 : Math.max(0, now - since);
    if (entry.state !== "ended") setOf(entry).delete(entry);
    entry.state = state;
    entry.since = now;
    entry.hasWaited ||= state === "waits";
    if (state !== "ended") setOf(entry).add(entry);
    if (group.waits.size + group.holds.size > 0) this.#groups.set(group.key, group);
    else if (this.#groups.get(group.key) === group) this.#groups.delete(group.key);
    return lasted;
  }
}

function setOf({ group, state }: Entry): Set<Entry> {
  return state === "waits" ? group.waits : group.holds;
}
