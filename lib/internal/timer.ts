/**
 * One timer that can be moved. A clock that replaced the platform's takes its timers along when it goes: a timer that was
 * set on such a clock counts as not set, and the next who needs it sets it on the clock in force.
 *
 * @module
 */
import { type CancelRegistration, onCancel } from "./cancellation.ts";
import { ROUNDING } from "./timers.ts";

export class Timer {
  // #registration !== undefined implies that #at is the moment for which it is set
  #registration: CancelRegistration | undefined;
  #at = Infinity;
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

  /** The moment for which it is set; Infinity where it is not set, or its clock is gone. */
  get at(): number {
    return this.#registration?.isStale ? Infinity : this.#at;
  }

  /** Sets the moment, in place of an earlier one; `Infinity` sets none. `now` is on the same clock as `at`. */
  set(at: number, now: number = performance.now()): void {
    this.clear();
    if (at === Infinity) return;
    this.#at = at;
    const timeout = Math.max(0, at - now - ROUNDING);
    const registration = onCancel({ timeout, keepsAlive: this.#keepsAlive }, () => {
      if (this.#registration !== registration) return; // another timer of the same moment has cleared or set this one
      this.clear();
      this.#onTime(at);
    });
    this.#registration = registration;
  }

  /** Sets the moment only if it is earlier than the one that is set. */
  advance(at: number): void {
    if (at < this.at) this.set(at);
  }

  clear(): void {
    this.#registration?.end();
    this.#registration = undefined;
    this.#at = Infinity;
  }
}
