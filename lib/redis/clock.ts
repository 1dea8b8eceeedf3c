/**
 * Local time and timers. Invariants: only the monotonic clock decides, and it never stands still while timers fire.
 *
 * Test frameworks may replace `setTimeout` but not `performance.now`. So a timer that has fired proves that its set
 * time has come.
 *
 * @module
 */
import { Timer } from "../internal/timer.ts";

/** Milliseconds on the monotonic clock. */
export function now(): number {
  return performance.now();
}

/** A timer on this clock that can be moved. */
export class LocalTimer extends Timer {
  /**
   * @param fire Called with the time, which is never before the set moment, even if rounding makes the timer early.
   * @param keepsAlive Whether it keeps the process alive.
   */
  constructor(fire: (time: number) => void, keepsAlive = false) {
    super((at) => {
      fire(Math.max(now(), at));
    }, keepsAlive);
  }

  override set(at: number, time: number = now()): void {
    super.set(at, time);
  }
}
