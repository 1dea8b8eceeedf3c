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

export class StartLog {
  readonly window: RateWindow;
  // permits[i] starts were made at times[i], which never decreases. Entries before `first` have expired; `used` is the sum
  // of the others.
  times: number[] = [];
  permits: number[] = [];
  first = 0;
  /** The number of starts within the window, after {@linkcode StartLog.advance}. */
  used = 0;

  constructor(window: RateWindow) {
    this.window = window;
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
      this.used -= this.permits[this.first++]!;
    }
    if (this.first <= this.times.length / 2) return; // few enough
    this.times = this.times.slice(this.first);
    this.permits = this.permits.slice(this.first);
    this.first = 0;
  }

  /** When `permits` starts will be allowed; `Infinity` for more than the limit. */
  readyAt(permits: number): number {
    const { limit } = this.window;
    if (permits > limit) return Infinity;
    let excess = this.used + permits - limit; // this number of starts must expire first
    if (permits === 0 || excess <= 0) return -Infinity;
    let i = this.first;
    while ((excess -= this.permits[i]!) > 0) i++;
    return this.endOf(this.times[i]!);
  }

  add(wanted: number, now: number): void {
    const permits = Math.min(wanted, Number.MAX_SAFE_INTEGER - this.used); // a larger sum would not be exact
    if (permits === 0) return;
    this.used += permits;
    const last = this.times.length - 1;
    if (this.times[last] === now) this.permits[last]! += permits;
    else {
      this.times.push(now);
      this.permits.push(permits);
    }
  }

  /** Takes back at most `permits` of the latest starts within the window. */
  takeBack(permits: number): void {
    for (let left = Math.min(permits, this.used); left > 0;) {
      const last = this.times.length - 1;
      const taken = Math.min(left, this.permits[last]!);
      left -= taken;
      this.used -= taken;
      this.permits[last]! -= taken;
      if (this.permits[last]! > 0) return;
      this.times.pop();
      this.permits.pop();
    }
  }

  /** Returns a copy for counting ahead. */
  copy(): StartLog {
    return Object.assign(new StartLog(this.window), this, { times: [...this.times], permits: [...this.permits] });
  }

  /** When the window that begins with this start ends. */
  private endOf(start: number): number {
    const { interval } = this.window;
    const end = start + interval;
    return end - start < interval ? end * (1 + Number.EPSILON) : end; // the sum was rounded down: go one step up
  }
}
