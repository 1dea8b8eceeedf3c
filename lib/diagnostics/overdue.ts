/**
 * Acquisitions by age. Each step takes O(1), because acquisitions come in the order of their times.
 *
 * If similar acquisitions are too old together, only the first is reported: a long queue is one finding, not thousands.
 *
 * @module
 */
import type { Acquisition, Group } from "./acquisition.ts";

/** How many acquisitions of one group are compared: comparing reads stack traces, which is slow. */
const COMPARED = 16;

/** The oldest acquisitions of a group, to compare. */
export function firstFew(acquisitions: Iterable<Acquisition>): Acquisition[] {
  const few: Acquisition[] = [];
  for (const acquisition of acquisitions) if (few.push(acquisition) === COMPARED) break;
  return few;
}

export class Overdue {
  /** Maximum age in ms. */
  readonly #limit: number;
  readonly #isAlike: (one: Acquisition, other: Acquisition) => boolean;
  // An acquisition is in at most one of the two sets; both are ordered from the oldest to the youngest
  readonly #young = new Set<Acquisition>();
  readonly #old = new WeakMap<Group, Set<Acquisition>>();

  /** @param isAlike Whether two acquisitions of a group count as one finding. */
  constructor(limit: number, isAlike: (one: Acquisition, other: Acquisition) => boolean = () => true) {
    this.#limit = limit;
    this.#isAlike = isAlike;
  }

  /** When the next acquisition becomes too old, on the clock of `performance.now()`. */
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

  /**
   * Takes the acquisitions that have become too old since the last call and are worth a report: at most `most`; the
   * rest come with the next call.
   */
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
    // Comparing with the first few is enough.
    let isNews = old.size < COMPARED;
    if (isNews) { for (const one of old) if (this.#isAlike(one, acquisition)) isNews = false; }
    old.add(acquisition);
    return isNews;
  }
}
