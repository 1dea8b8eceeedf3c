/**
 * The starts of one budget that its sliding window still counts. Starts of the same moment share an entry, so memory
 * and time do not grow with permits, and a large limit costs nothing until it is used.
 *
 * @module
 */

/** The settable numbers of a budget, shared by all keys of a limiter. */
export interface RateWindow {
  limit: number;
  /** Milliseconds. */
  interval: number;
}

/** How many expired entries may be kept while live entries outnumber them. */
const SPARE = 32;

export class StartLog {
  readonly window: RateWindow;
  // counts[i] is the number of all starts ever made up to and including times[i]. Times and counts never decrease. The
  // entries before `first`, with the first `over` starts, have expired. `total` is the last count.
  times: number[] = [];
  counts: number[] = [];
  first = 0;
  over = 0;
  total = 0;

  constructor(window: RateWindow) {
    this.window = window;
  }

  /** The number of starts within the window, after {@linkcode StartLog.advance}. */
  get used(): number {
    return this.total - this.over;
  }

  /**
   * Drops expired starts; call it before every other method.
   *
   * @param turn Starts from then on move on to `now`: their callers have yet to resume, later in this turn.
   */
  advance(now: number, turn: number): void {
    const last = this.times.length - 1;
    if (this.times[last]! >= turn) this.times[last] = now;
    while (this.first < this.times.length && this.endOf(this.times[this.first]!) <= now) {
      this.over = this.counts[this.first++]!;
    }
    if (this.first <= Math.max(SPARE, this.times.length / 2)) return;
    this.times = this.times.slice(this.first);
    this.counts = this.counts.slice(this.first);
    this.first = 0;
  }

  /** When `permits` starts will be allowed; `Infinity` for more than the limit. O(log n) in the number of entries. */
  readyAt(permits: number): number {
    const { limit } = this.window;
    if (permits > limit) return Infinity;
    if (permits === 0 || this.used + permits <= limit) return -Infinity;
    const expiring = this.total + permits - limit; // this number of starts must expire first
    let [low, high] = [this.first, this.times.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.counts[middle]! < expiring) low = middle + 1;
      else high = middle;
    }
    return this.endOf(this.times[low]!);
  }

  /** Notes starts. */
  add(permits: number, now: number): void {
    if (permits === 0) return;
    this.total += permits;
    const last = this.times.length - 1;
    if (this.times[last] === now) this.counts[last] = this.total;
    else {
      this.times.push(now);
      this.counts.push(this.total);
    }
  }

  /** Takes back at most `permits` of the latest starts within the window. */
  takeBack(permits: number): void {
    for (let left = permits; left > 0 && this.used > 0;) {
      const last = this.times.length - 1;
      const before = last > 0 ? this.counts[last - 1]! : this.over;
      const taken = Math.min(left, this.total - before);
      left -= taken;
      this.total = this.counts[last] = this.total - taken;
      if (this.total > before) return;
      this.times.pop();
      this.counts.pop();
    }
  }

  /** Returns a copy for counting ahead. */
  copy(): StartLog {
    const copy = new StartLog(this.window);
    copy.times = this.times.slice(this.first);
    copy.counts = this.counts.slice(this.first);
    [copy.over, copy.total] = [this.over, this.total];
    return copy;
  }

  /** When the window that begins with this start ends. */
  private endOf(start: number): number {
    const { interval } = this.window;
    const end = start + interval;
    return end - start < interval ? end * (1 + Number.EPSILON) : end; // the sum was rounded down: go one step up
  }
}

/** Throws unless the invariants hold; for tests. */
export function assertSoundStartLog({ times, counts, first, over, total, used }: StartLog): void {
  const isOrdered = times.every((time, i) => i === 0 || time >= times[i - 1]! && counts[i]! > counts[i - 1]!);
  const isCounted = (counts.at(-1) ?? over) === total && (counts[first - 1] ?? over) === over && used >= 0;
  if (isOrdered && isCounted && times.length === counts.length && first <= times.length) return;
  throw new Error(`unsound starts: ${first} of ${times}, ${counts}, ${over} of ${total} over`);
}
