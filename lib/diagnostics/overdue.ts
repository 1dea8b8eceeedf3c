/**
 * Acquisitions by age. All of it is O(1) for an acquisition: they come in the order of their time, so the oldest is the first.
 *
 * Of acquisitions that are too old together, only the first is news: a long queue is one finding, not thousands.
 *
 * @module
 */
import type { Acquisition, Group } from "./acquisition.ts";

/** How many acquisitions of one group are compared with each other: it reads stack traces, which takes its time. */
const COMPARED = 16;

/** The oldest of a group, as many as are compared. */
export function firstFew(acquisitions: Iterable<Acquisition>): Acquisition[] {
  const few: Acquisition[] = [];
  for (const acquisition of acquisitions) if (few.push(acquisition) === COMPARED) break;
  return few;
}

export class Overdue {
  /** In ms. */
  readonly #limit: number;
  readonly #isAlike: (one: Acquisition, other: Acquisition) => boolean;
  // An acquisition is in at most one of both; each holds acquisitions from the oldest to the youngest
  readonly #young = new Set<Acquisition>();
  readonly #old = new WeakMap<Group, Set<Acquisition>>();

  /** @param isAlike Whether two acquisitions of one group are one finding. */
  constructor(limit: number, isAlike: (one: Acquisition, other: Acquisition) => boolean = () => true) {
    this.#limit = limit;
    this.#isAlike = isAlike;
  }

  /** When the next one becomes too old, on the clock of `performance.now()`. */
  get next(): number {
    const [oldest] = this.#young;
    return oldest === undefined ? Infinity : oldest.since + this.#limit;
  }

  add(acquisition: Acquisition): void {
    if (this.#limit !== Infinity) this.#young.add(acquisition);
  }

  delete(acquisition: Acquisition): void {
    if (!this.#young.delete(acquisition)) this.#old.get(acquisition.group)?.delete(acquisition);
  }

  /** Those that have become too old since the last time, if they are news; at most `most`, the rest comes next time. */
  take(now: number, most: number = Infinity): Acquisition[] {
    const news: Acquisition[] = [];
    for (const acquisition of this.#young) {
      if (acquisition.since + this.#limit > now || news.length >= most) break;
      this.#young.delete(acquisition);
      if (this.#isNews(acquisition)) news.push(acquisition);
    }
    return news;
  }

  #isNews(acquisition: Acquisition): boolean {
    const old = this.#old.get(acquisition.group);
    if (old === undefined) {
      this.#old.set(acquisition.group, new Set([acquisition]));
      return true;
    }
    // The first ones are enough.
    let isNews = old.size < COMPARED;
    if (isNews) { for (const one of old) if (this.#isAlike(one, acquisition)) isNews = false; }
    old.add(acquisition);
    return isNews;
  }
}
