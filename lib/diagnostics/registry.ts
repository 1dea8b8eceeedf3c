/**
 * The present waits and holds. Invariant: an acquisition is in one set of its group exactly while it waits or holds,
 * and a group is registered exactly while it has an acquisition.
 *
 * @module
 */
import type { Resource } from "../internal/hook.ts";
import { Acquisition, type CallOrigin, type Group } from "./acquisition.ts";

/** The constructor returns its argument, so that a subclass adds its private fields to that object. */
class SameObject {
  constructor(object: object) {
    return object;
  }
}

/**
 * Keeps the latest acquisition of a guard, waiter or lease in a private field of it. The field outlives the hold,
 * because a Condition takes a hold back for the same guard. A WeakMap would double the cost of diagnostics, mostly in
 * the garbage collector.
 */
class Marked extends SameObject {
  #acquisition: Acquisition | undefined;

  static acquisitionOf(call: object): Acquisition | undefined {
    return #acquisition in call ? call.#acquisition : undefined;
  }

  static mark(call: object, acquisition: Acquisition): void {
    const marked = (#acquisition in call ? call : new Marked(call)) as Marked;
    marked.#acquisition = acquisition;
  }
}

/** Maximum number of refused acquisitions to remember: each keeps a stack of about 3 kB. */
const MOST_REFUSED = 100;

export class Registry {
  /** The groups with a waiter or a holder, by their keys. */
  readonly groups: Map<unknown, Group> = new Map();
  /** The present holds, by the ids of their origins. */
  readonly holds: Map<number | undefined, Acquisition> = new Map();
  /** The latest acquisitions that have ended without a grant, by id. */
  readonly #refused = new Map<number, Acquisition>();

  /** All acquisitions that wait or hold: for each group its holders, then its waiters, the oldest first. */
  *present(): Iterable<Acquisition> {
    for (const { holds, waits } of this.groups.values()) {
      yield* holds;
      yield* waits;
    }
  }

  groupOf(resource: Resource): Group | undefined {
    return this.groups.get(resource.sharedState ?? resource);
  }

  /** Returns the latest acquisition of a guard, waiter or lease. */
  acquisitionOf(call: object): Acquisition | undefined {
    const acquisition = Marked.acquisitionOf(call);
    return acquisition?.group.registry === this ? acquisition : undefined;
  }

  /** Adds an acquisition that neither waits nor holds yet. */
  add(id: number, resource: Resource, call: object, permits: number, origin: CallOrigin): Acquisition {
    const key = resource.sharedState ?? resource;
    const group = this.groups.get(key) ?? { key, waits: new Set(), holds: new Set(), registry: this };
    const acquisition = new Acquisition(id, resource, permits, origin, group);
    Marked.mark(call, acquisition);
    return acquisition;
  }

  /** Remembers for a while that an acquisition has ended without a grant. */
  rememberRefused(acquisition: Acquisition): void {
    this.#refused.set(acquisition.id, acquisition);
    if (this.#refused.size > MOST_REFUSED) this.#refused.delete(this.#refused.keys().next().value!);
  }

  /** Returns the acquisition of that id if it was refused lately. */
  refusedCall(id: number | undefined): Acquisition | undefined {
    return id === undefined ? undefined : this.#refused.get(id);
  }

  /** Associates an acquisition with its guard from the grant on. */
  setGuard(acquisition: Acquisition, hold: object): void {
    Marked.mark(hold, acquisition);
  }

  /** Ends the acquisition's present state and begins the next one. Returns how long the former one lasted, in ms. */
  move(acquisition: Acquisition, state: Acquisition["state"], now: number = performance.now()): number {
    const { group, since, state: formerState, origin: { id } } = acquisition;
    const lasted = formerState === "ended" ? 0 : Math.max(0, now - since);
    if (formerState !== "ended") group[formerState].delete(acquisition);
    if (state === "holds") this.holds.set(id, acquisition);
    else this.holds.delete(id);
    acquisition.state = state;
    acquisition.since = now;
    acquisition.hasWaited ||= state === "waits";
    if (state !== "ended") group[state].add(acquisition);
    if (group.waits.size + group.holds.size > 0) this.groups.set(group.key, group);
    else this.groups.delete(group.key);
    return lasted;
  }
}
