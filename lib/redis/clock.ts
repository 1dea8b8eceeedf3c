/**
 * Local time. Invariants: only the monotonic clock decides anything; it never stands still while timers fire. Test frameworks
 * replace `setTimeout` and not always `performance.now`: then a timer that has fired shows the time for which it was set.
 *
 * @module
 */
import { isClockReadable } from "../internal/cancellation.ts";
import { Timer } from "../internal/timer.ts";

/** Milliseconds by which timers have shown the time to be ahead of `performance.now`. */
let ahead = 0;

/** Milliseconds on the monotonic clock. */
export function now(): number {
  return performance.now() + ahead;
}

/** A timer that can be moved, on that clock. It keeps the process alive only with `keepsAlive`. */
export class LocalTimer extends Timer {
  constructor(fire: () => void, keepsAlive = false) {
    super((at) => {
      if (!isClockReadable()) ahead += Math.max(0, at - now());
      fire();
    }, keepsAlive);
  }

  override set(at: number, time: number = now()): void {
    super.set(at, time);
  }
}
