/**
 * The times of the latest starts, in order, which is all that a sliding window depends on. 8 bytes for each start, at
 * most `limit` of them; memory grows with the most starts of any window, not with the limit.
 *
 * @module
 */

export class StartLog {
  #limit: number;
  #interval: number;
  // A ring: #size starts from #oldest on. #size <= #times.length, which is at most the greatest limit so far; starts never
  // decrease.
  #times: Float64Array<ArrayBuffer>;
  #oldest = 0;
  #size = 0;
  // The latest #granted of them are of this turn, not before #grantedAt, and their callers have not gone on yet.
  #granted = 0;
  #grantedAt = 0;

  constructor(limit: number, interval: number) {
    this.#limit = limit;
    this.#interval = interval;
    this.#times = new Float64Array(Math.min(limit, 16));
  }

  get limit(): number {
    return this.#limit;
  }

  get interval(): number {
    return this.#interval;
  }

  /** The starts already made count against the new window, as far as they are still known. */
  setWindow(limit: number, interval: number): void {
    this.#limit = limit;
    this.#interval = interval;
  }

  /** When `permits` starts are allowed, by the clock of {@linkcode tryAdd}; `Infinity` for more than the limit. O(1). */
  readyAt(permits: number): number {
    if (permits > this.#limit) return Infinity;
    const expiring = this.#size + permits - this.#limit;
    return expiring <= 0 ? -Infinity : this.#endOf(this.#at(expiring - 1));
  }

  /**
   * The same for a call behind others that wait: `queued` are the permits of each of them, in order, and then its own.
   * O(n) in the number of these.
   */
  readyBehind(queued: readonly number[], now: number): number {
    if (this.#granted > 0) this.#postpone(now); // they happen no earlier than this
    let count = this.#size; // of all starts so far
    const later: (readonly [count: number, start: number])[] = []; // of each call: all starts up to its own, and its time
    let first = 0; // index in `later`: `expiring` only grows
    let ready = now;
    for (const permits of queued) {
      if (permits > this.#limit) return Infinity;
      count += permits;
      const expiring = count - this.#limit;
      if (expiring > this.#size) {
        while (later[first]![0] < expiring) first++;
        ready = Math.max(ready, this.#endOf(later[first]![1]));
      } else if (expiring > 0) ready = Math.max(ready, this.#endOf(this.#at(expiring - 1)));
      later.push([count, ready]);
    }
    return ready;
  }

  /** When no start will lie within the window any more. */
  get end(): number {
    return this.#size === 0 ? -Infinity : this.#endOf(this.#at(this.#size - 1));
  }

  /** When the window that began with this start is over. */
  #endOf(start: number): number {
    const end = start + this.#interval;
    return end - start < this.#interval ? end * (1 + Number.EPSILON) : end; // rounded down: one step up
  }

  /** How many starts were granted whose callers have not gone on yet. */
  get granted(): number {
    return this.#granted;
  }

  /** Records `permits` starts and returns true if they are allowed at `now`; else changes nothing. */
  tryAdd(permits: number, now: number): boolean {
    // A turn longer than the interval: its grants are not over.
    if (this.#granted > 0 && now - this.#grantedAt >= this.#interval) this.#postpone(now);
    if (permits > this.#limit) return false; // a lowered one
    const expiring = this.#size + permits - this.#limit;
    // The subtraction that an observer makes, so that rounding never shows it a shorter distance.
    if (expiring > 0 && now - this.#at(expiring - 1) < this.#interval) return false;
    this.#add(permits, now);
    return true;
  }

  /** The caller of the latest `permits` starts goes on later in this turn, so they happen no earlier than that. */
  grant(permits: number, now: number): void {
    if (this.#granted === 0) this.#grantedAt = now;
    this.#granted += permits;
  }

  /** Resolves that many microtasks after the latest grant of this turn. */
  async settled(microtasks: number): Promise<void> {
    for (let granted = -1; granted !== this.#granted;) {
      granted = this.#granted;
      for (let step = 0; step < microtasks; step++) await undefined;
    }
  }

  /** All callers have gone on. */
  goOn(now: number): void {
    this.#postpone(now);
    this.#granted = 0;
  }

  /** Ends the turn that granted, at a timer of a replaced clock: its starts count from their grants. */
  endTurn(): void {
    this.#granted = 0;
  }

  #postpone(now: number): void {
    this.#grantedAt = now;
    for (let index = Math.max(0, this.#size - this.#granted); index < this.#size; index++) {
      this.#times[(this.#oldest + index) % this.#times.length] = now;
    }
  }

  #add(permits: number, now: number): void {
    for (; permits > 0; permits--) {
      this.#makeRoom(now);
      this.#times[(this.#oldest + this.#size++) % this.#times.length] = now;
    }
  }

  #at(index: number): number {
    return this.#times[(this.#oldest + index) % this.#times.length]!;
  }

  /** Drops the oldest start if the window has passed it by, or else grows. */
  #makeRoom(now: number): void {
    if (this.#size < this.#times.length) return;
    if (now - this.#at(0) < this.#interval) return this.#grow();
    this.#oldest = (this.#oldest + 1) % this.#times.length;
    this.#size--;
  }

  #grow(): void {
    const times = new Float64Array(Math.max(this.#size + 1, Math.min(this.#limit, 2 * this.#size)));
    times.set(this.#times.subarray(this.#oldest));
    times.set(this.#times.subarray(0, this.#oldest), this.#size - this.#oldest);
    this.#times = times;
    this.#oldest = 0;
  }
}
