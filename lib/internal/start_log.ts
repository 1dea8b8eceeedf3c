/**
 * The starts of one budget that its sliding window still counts. Starts of the same moment share an entry, so memory
 * and time do not grow with permits, and a large limit costs nothing until it is used.
 *
 * @module
 */

/** What one budget allows: `limit` starts within an interval. Shared by all keys of a limiter. */
export interface Quota {
  readonly kind: "window" | "bucket";
  /** Can be set later, as the interval. */
  limit: number;
  /** Milliseconds. */
  interval: number;
}

/** The starts of one budget. Before every other method, {@linkcode StartLog.advance} has to be called. */
export interface StartLog {
  readonly quota: Quota;
  /** Whether a limiter that was never used is in the same state. */
  readonly isUnused: boolean;
  /**
   * Moves on to `now`.
   *
   * @param turn Starts from then on move on to `now`, too: their callers have yet to resume, later in this turn.
   */
  advance(now: number, turn: number): void;
  /** Called before the quota changes. */
  beforeChange(now: number): void;
  /** When `permits` starts will be allowed; `-Infinity` if they are now, `Infinity` for more than the limit. */
  readyAt(permits: number): number;
  /** The number of starts that are allowed now. */
  remaining(now: number): number;
  /** Counts starts made now. */
  add(permits: number, now: number): void;
  /** Takes back at most `permits` of the latest starts that still count. */
  refund(permits: number, now: number): void;
  /** Returns a copy for counting ahead, or for another key. */
  copy(): StartLog;
}

/** A list up to this length is copied rather than pushed to: V8 adds room for 16 more then. */
const FEW = 16;

/**
 * Times and numbers of starts in a flat list: its array literal takes a quarter of the memory of two arrays that grow.
 */
type TimesAndCounts = number[];

export class WindowLog implements StartLog {
  readonly quota: Quota;
  // A time, which never decreases, and the number of starts made then; and so on. Those before `first` have expired;
  // `used` is the sum of the others.
  starts: TimesAndCounts | undefined;
  /** The index of the first time that counts. */
  first = 0;
  /** The number of starts within the window. */
  used = 0;

  constructor(quota: Quota) {
    this.quota = quota;
  }

  get isUnused(): boolean {
    return this.used === 0;
  }

  advance(now: number, turn: number): void {
    const { starts } = this;
    if (starts === undefined) return;
    const last = starts.length - 2; // the index of the latest time
    if (starts[last]! >= turn) starts[last] = now;
    while (this.first <= last && this.endOf(starts[this.first]!) <= now) {
      this.used -= starts[this.first + 1]!;
      this.first += 2;
    }
    if (this.first <= starts.length / 2) return; // few have expired
    this.starts = this.first > last ? undefined : starts.slice(this.first);
    this.first = 0;
  }

  beforeChange(): void {} // starts are counted by their times

  readyAt(permits: number): number {
    const { limit } = this.quota;
    if (permits > limit) return Infinity;
    let excess = this.used + permits - limit; // this number of starts must expire first
    if (permits === 0 || excess <= 0) return -Infinity;
    let i = this.first;
    while ((excess -= this.starts![i + 1]!) > 0) i += 2;
    return this.endOf(this.starts![i]!);
  }

  remaining(): number {
    return Math.max(0, this.quota.limit - this.used);
  }

  add(wanted: number, now: number): void {
    const permits = Math.min(wanted, Number.MAX_SAFE_INTEGER - this.used); // a larger sum would not be exact
    if (permits === 0) return;
    this.used += permits;
    const { starts } = this;
    if (starts === undefined) this.starts = [now, permits];
    else if (starts[starts.length - 2] === now) starts[starts.length - 1]! += permits;
    else if (starts.length < FEW) this.starts = starts.concat(now, permits);
    else starts.push(now, permits);
  }

  refund(permits: number): void {
    const starts = this.starts!;
    for (let left = Math.min(permits, this.used); left > 0;) {
      const last = starts.length - 1; // the index of the latest number
      const taken = Math.min(left, starts[last]!);
      left -= taken;
      this.used -= taken;
      starts[last]! -= taken;
      if (starts[last]! > 0) return;
      starts.length -= 2;
    }
  }

  copy(): WindowLog {
    return Object.assign(new WindowLog(this.quota), this, { starts: this.starts?.slice() });
  }

  /** When the window that begins with this start ends. */
  private endOf(start: number): number {
    const { interval } = this.quota;
    const end = start + interval;
    return end - start < interval ? end * (1 + Number.EPSILON) : end; // the sum was rounded down: go one step up
  }
}
