/**
 * Entries by age. All of it is O(1) for an entry: they come in the order of their time, so the oldest is the first.
 *
 * Of entries that are too old together, only the first is news: a long queue is one finding, not thousands.
 *
 * @module
 */
import type { Entry, Group } from "./entry.ts";

/** How many entries of one group are compared with each other. */
const COMPARED = 16;

export class Overdue {
  /** In ms. */
  readonly #limit: number;
  readonly #isAlike: (one: Entry, other: Entry) => boolean;
  // An entry is in at most one of both; each holds entries from the oldest to the youngest
  readonly #young = new Set<Entry>();
  readonly #old = new Map<Group, Set<Entry>>();

  /** @param isAlike Whether two entries of one group are one finding. */
  constructor(limit: number, isAlike: (one: Entry, other: Entry) => boolean = () => true) {
    this.#limit = limit;
    this.#isAlike = isAlike;
  }

  /** When the next one becomes too old, on the clock of `performance.now()`. */
  get next(): number {
    const [oldest] = this.#young;
    return oldest === undefined ? Infinity : oldest.since + this.#limit;
  }

  add(entry: Entry): void {
    if (this.#limit !== Infinity) this.#young.add(entry);
  }

  delete(entry: Entry): void {
    if (this.#young.delete(entry)) return;
    const old = this.#old.get(entry.group);
    if (old?.delete(entry) && old.size === 0) this.#old.delete(entry.group);
  }

  /** Those that have become too old since the last time, if they are news; at most `most`, the rest comes next time. */
  take(now: number, most: number = Infinity): Entry[] {
    const news: Entry[] = [];
    for (const entry of this.#young) {
      if (entry.since + this.#limit > now || news.length >= most) break;
      this.#young.delete(entry);
      if (this.#isNews(entry)) news.push(entry);
    }
    return news;
  }

  #isNews(entry: Entry): boolean {
    const old = this.#old.get(entry.group);
    if (old === undefined) {
      this.#old.set(entry.group, new Set([entry]));
      return true;
    }
    // Comparing reads stack traces, which takes its time: the first ones are enough.
    let isNews = old.size < COMPARED;
    if (isNews) { for (const one of old) if (this.#isAlike(one, entry)) isNews = false; }
    old.add(entry);
    return isNews;
  }
}
