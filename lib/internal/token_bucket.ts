/**
 * A token bucket: full at first, it gets one permit back every `interval / limit` milliseconds.
 *
 * @module
 */
import type { Quota, StartLog } from "./start_log.ts";

/** The part of the limit by which the rounded sum of two fractions may be too small, and more. */
const ROUNDED = 1e-14;

export class TokenBucket implements StartLog {
  readonly quota: Quota;
  // At `since`, `level` permits were in it, less those taken since then. `since` moves only while the bucket is full
  // and when its quota changes, so no error of rounding adds up.
  since = 0;
  level: number;
  /** Starts of the turn that began with `recentAt`, at their grant or later. */
  recent = 0;
  recentAt = 0;

  constructor(quota: Quota) {
    this.quota = quota;
    this.level = quota.limit;
  }

  get isUnused(): boolean {
    return this.level === this.quota.limit;
  }

  advance(now: number, turn: number): void {
    if (this.recentAt < turn) this.recent = 0;
    else this.recentAt = now;
    this.capLevel(now);
  }

  beforeChange(now: number): void {
    const { limit } = this.quota;
    this.level = Math.min(limit, this.levelAt(now) + limit * ROUNDED); // a fraction rounded down would delay starts
    this.since = now;
  }

  readyAt(permits: number): number {
    const { limit, interval } = this.quota;
    if (permits > limit) return Infinity;
    const missing = permits - this.level;
    if (permits === 0 || missing <= 0) return -Infinity;
    let ready = this.since + missing * interval / limit;
    while (this.refillBy(ready) < missing) ready *= 1 + Number.EPSILON; // it was rounded down
    return ready;
  }

  remaining(now: number): number {
    let permits = Math.min(Math.floor(this.levelAt(now)) + 1, this.quota.limit);
    while (permits > 0 && this.readyAt(permits) > now) permits--;
    return Math.max(0, permits);
  }

  add(permits: number, now: number): void {
    this.level = Math.max(this.level - permits, -Number.MAX_SAFE_INTEGER); // a lower level would not be exact
    this.recent += permits;
    this.recentAt = now;
  }

  refund(permits: number, now: number): void {
    this.recent = Math.max(0, this.recent - permits);
    this.level += permits;
    this.capLevel(now);
  }

  copy(): TokenBucket {
    return Object.assign(new TokenBucket(this.quota), this);
  }

  /** Keeps the level within the limit. If it was full but for the starts of this turn, only they are missing. */
  private capLevel(now: number): void {
    const { limit } = this.quota;
    if (this.levelAt(now) + this.recent < limit) return;
    this.level = limit - this.recent;
    this.since = now;
  }

  /** The permits in it; below 0 after a penalty. */
  private levelAt(now: number): number {
    return this.level + this.refillBy(now);
  }

  /** The permits that came back since `since`. */
  private refillBy(now: number): number {
    return (now - this.since) * this.quota.limit / this.quota.interval;
  }
}
