/**
 * Local time, and that of a server. Invariants: of the local clocks only the monotonic one decides anything, and it never
 * stands still while timers fire; an estimate of a server's time is never ahead of it, so that a request is only ever
 * refused too early, by one round trip at most.
 *
 * Test frameworks replace `setTimeout` and not always `performance.now`: then a timer that has fired shows the time for
 * which it was set.
 *
 * @module
 */
import { Timer } from "../internal/timer.ts";

/** Milliseconds on the monotonic clock. */
export function now(): number {
  return performance.now();
}

/** The same, but it never goes back: `now` does when a replaced clock that was ahead is gone. */
export class SteadyClock {
  #latest = -Infinity;
  #offset = 0;

  /** @param reached A moment on this clock that a timer has shown to be over. */
  now(reached = -Infinity): number {
    const time = now() + this.#offset;
    if (time < this.#latest) this.#offset += this.#latest - time;
    return this.#latest = Math.max(time, this.#latest, reached);
  }
}

/** A timer that can be moved, on that clock. */
export class LocalTimer extends Timer {
  /**
   * @param fire Called with the time: not before the moment for which the timer was set, where rounding makes it early.
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
