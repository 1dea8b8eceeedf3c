/**
 * Searches the present waits and holds, again and again, for those that are stuck or last too long. Each search finds
 * what earlier ones have not found.
 *
 * If similar acquisitions of a group are too old together, only the oldest is found: a long queue is one finding, not
 * thousands.
 *
 * @module
 */
import type { Acquisition, Group } from "./acquisition.ts";
import { findDeadlocks } from "./deadlock.ts";
import { deadlockFinding, type Finding, longHold, longWait } from "./finding.ts";
import { hub } from "./hub.ts";

/**
 * Times in ms after which an acquisition is found, as in the options of `watchdog`; `self` is for a wait in a deadlock.
 */
export type Limits = Readonly<Record<"waited" | "held" | "self", number>>;

export class Search {
  readonly #longWaits: Overdue;
  readonly #longHolds: Overdue;
  /** The waits that may be in a deadlock. */
  readonly #waitsInRuns: Overdue;
  /** The acquisitions of the deadlocks that were found. */
  readonly #deadlocked = new WeakSet<Acquisition>();

  constructor({ waited, held, self }: Limits) {
    this.#longWaits = new Overdue("waits", waited);
    this.#longHolds = new Overdue("holds", held, (one, other) => `${one.site}` === `${other.site}`);
    this.#waitsInRuns = new Overdue("waits", self, () => false); // each may be in another deadlock
  }

  /** When the next acquisition becomes too old, on the clock of `performance.now()`, as of the latest search. */
  get next(): number {
    return Math.min(this.#longWaits.next, this.#longHolds.next, this.#waitsInRuns.next);
  }

  /**
   * @param due The time by which waits have lasted too long. Default: `now`; later if the process ends.
   * @param most The maximum number of waits and of holds that last too long; the rest come with the next search.
   */
  take(now: number, due = now, most?: number): Finding[] {
    const prefix = due > now ? "wait at exit: the process ends while " : undefined;
    const mayBeDeadlocked = this.#waitsInRuns.takeNew(hub.registry.groups.values(), due).length > 0;
    const deadlocks = mayBeDeadlocked ? this.#deadlocks(now, due) : [];
    const withoutDeadlocked = (all: Acquisition[]) => all.filter((one) => !this.#deadlocked.has(one));
    const waits = withoutDeadlocked(this.#longWaits.takeNew(hub.registry.groups.values(), due, most));
    const holds = withoutDeadlocked(this.#longHolds.takeNew(hub.registry.groups.values(), now, most));
    return [
      ...deadlocks,
      ...waits.map((one) => longWait(one, now, prefix)),
      ...holds.map((one) => longHold(one, now)),
    ];
  }

  #deadlocks(now: number, due: number): Finding[] {
    return findDeadlocks(hub.registry, due - this.#waitsInRuns.limit).flatMap((deadlock) => {
      const acquisitions = deadlock.flatMap(({ hold, wait }) => [hold, wait]);
      const isKnown = acquisitions.every((acquisition) => this.#deadlocked.has(acquisition));
      for (const acquisition of acquisitions) this.#deadlocked.add(acquisition);
      return isKnown ? [] : [deadlockFinding(deadlock, now)];
    });
  }
}

/** Whether two acquisitions of a group count as one finding. */
type IsAlike = (one: Acquisition, other: Acquisition) => boolean;

/** How many acquisitions of one group are compared: comparing reads stack traces, which is slow. */
const MOST_COMPARED = 16;

/** The waits or the holds that are too old. */
export class Overdue {
  /** When the next one becomes too old, as of the latest search. */
  next = Infinity;
  readonly #list: "waits" | "holds";
  /** The maximum age in ms. */
  readonly limit: number;
  readonly #isAlike: IsAlike;
  /** The acquisitions that were found, or were like one that was found. */
  readonly #known = new WeakSet<Acquisition>();

  constructor(which: "waits" | "holds", limit: number, isAlike: IsAlike = () => true) {
    this.#list = which;
    this.limit = limit;
    this.#isAlike = isAlike;
  }

  /** Returns those that are too old, and that no earlier call has seen: at most `most`; the rest come with the next. */
  takeNew(groups: Iterable<Group>, due: number, most = Infinity): Acquisition[] {
    const found: Acquisition[] = [];
    this.next = Infinity;
    for (const group of groups) {
      const distinct: Acquisition[] = [];
      for (const one of group[this.#list]) { // the oldest first
        const dueAt = one.since + this.limit;
        if (dueAt > due || found.length >= most) {
          this.next = Math.min(this.next, dueAt);
          break;
        }
        const isNew = !this.#known.has(one) && !distinct.some((other) => this.#isAlike(one, other));
        if (isNew) found.push(one);
        this.#known.add(one);
        if (distinct.length < MOST_COMPARED) distinct.push(one);
      }
    }
    return found;
  }
}
