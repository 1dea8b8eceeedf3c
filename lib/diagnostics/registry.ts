/**
 * The present waits and holds. Invariant: an entry is in one set of its group exactly while it waits or holds, and a
 * group is known exactly while it has an entry.
 *
 * @module
 */
import type { Resource } from "../internal/hook.ts";
import { Entry, Group, type Origin } from "./entry.ts";

/** Its constructor returns its argument, so that a private field of a class that extends it is added to that. */
class Returned {
  constructor(object: object) {
    return object;
  }
}

/**
 * The latest entry of a guard, waiter or lease, in a private field of it, also after the entry's end: a Condition takes a
 * hold back for the same guard. A WeakMap would cost as much as all the rest, most of it in the garbage collector.
 */
class Marked extends Returned {
  #entry: Entry | undefined;

  static entryOf(call: object): Entry | undefined {
    return #entry in call ? call.#entry : undefined;
  }

  static mark(call: object, entry: Entry): void {
    const marked = (#entry in call ? call : new Marked(call)) as Marked;
    marked.#entry = entry;
  }
}

export class Registry {
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
    const entry = Marked.entryOf(call);
    return entry?.registry === this ? entry : undefined;
  }

  /** A new entry, which neither waits nor holds yet. */
  add(id: number, resource: Resource, call: object, permits: number, origin: Origin): Entry {
    const group = this.groupOf(resource) ?? new Group(resource.group ?? resource);
    const entry = new Entry(id, resource, permits, origin, group, this);
    Marked.mark(call, entry);
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
