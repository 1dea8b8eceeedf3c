/**
 * One time to look at what waits and holds. It keeps no process alive. Under a clock that was replaced since it was set,
 * it is set again.
 *
 * @module
 */
import { type CancelRegistration, onCancel } from "../internal/cancellation.ts";

export class WatchTimer {
  readonly #onTime: (now: number) => void;
  /** The least time between two calls, in ms. */
  readonly #pause: number;
  #timer: CancelRegistration | undefined;
  /** On the clock of `performance.now()`; Infinity while no timer is set. */
  #until = Infinity;

  constructor(pause: number, onTime: (now: number) => void) {
    this.#pause = pause;
    this.#onTime = onTime;
  }

  /** Has the function called at that time, or up to a pause later. */
  atLatest(time: number): void {
    if (time === Infinity || (time >= this.#until - this.#pause && !this.#timer?.isStale)) return;
    this.clear();
    const now = performance.now();
    const timeout = Math.max(this.#pause, Math.ceil(time - now));
    this.#until = now + timeout;
    this.#timer = onCancel({ timeout, keepsAlive: false }, () => this.#fire());
  }

  clear(): void {
    this.#timer?.end();
    this.#until = Infinity;
  }

  #fire(): void {
    // A timer may be a little early by the monotonic clock; the time that it was set for counts as reached.
    const now = Math.max(performance.now(), this.#until);
    this.#until = Infinity;
    this.#onTime(now);
  }
}
