/**
 * One timer that can be moved. A fake clock takes its timers along when it is removed, so a timer of a clock that is
 * not in force counts as not set, and its user sets it again.
 *
 * @module
 */
import { clockInForce, startTimer } from "./timers.ts";

/** Exceeds the error of a sum of times in ms, so that 100 ms from now does not round up to 101. */
export const ROUNDING = 1e-6;

export class Timer {
  // #at < Infinity implies that a timer is set for it, which #clear clears, on the clock #set
  #at = Infinity;
  #clear: (() => void) | undefined;
  #clock: unknown;
  readonly #onTime: (at: number) => void;
  readonly #keepsAlive: boolean;

  /**
   * @param onTime Called with the moment for which the timer was set; must not throw.
   * @param keepsAlive Whether it keeps the process alive.
   */
  constructor(onTime: (at: number) => void, keepsAlive = false) {
    this.#onTime = onTime;
    this.#keepsAlive = keepsAlive;
  }

  /** The moment for which it is set; Infinity while it is not set. */
  get at(): number {
    return this.#clock === clockInForce() ? this.#at : Infinity;
  }

  /** Sets the moment and replaces an earlier one; `Infinity` clears it. `now` is on the same clock as `at`. */
  set(at: number, now: number = performance.now()): void {
    this.clear();
    if (at === Infinity) return;
    this.#at = at;
    this.#clock = clockInForce();
    this.#clear = startTimer(Math.max(0, at - now - ROUNDING), () => {
      this.clear();
      this.#onTime(at);
    }, this.#keepsAlive);
  }

  /** Sets the moment, unless an earlier one is set. */
  setNoLaterThan(at: number): void {
    if (at < this.at) this.set(at);
  }

  clear(): void {
    this.#clear?.();
    this.#clear = undefined;
    this.#at = Infinity;
  }
}
