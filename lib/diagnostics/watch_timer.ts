/**
 * One timer that keeps no process alive. Under a clock that was replaced since it was set, it is set again.
 *
 * @module
 */

/** The longest delay of setTimeout; a longer one would fire at once. */
const LONGEST_DELAY = 2 ** 31 - 1;

export class WatchTimer {
  readonly #onTime: (now: number) => void;
  /** The least time between two calls, in ms. */
  readonly #pause: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Whose timer it is: a fake clock goes away with its timers. */
  #setBy: unknown;
  #until = Infinity;

  constructor(pause: number, onTime: (now: number) => void) {
    this.#pause = pause;
    this.#onTime = onTime;
  }

  /** Sees to it that the function is called at that time, or up to a pause later. */
  atLatest(time: number): void {
    if (time === Infinity || (time >= this.#until - this.#pause && this.#setBy === setTimeout)) return;
    this.clear();
    const delay = Math.min(Math.max(this.#pause, Math.ceil(time - performance.now())), LONGEST_DELAY);
    this.#until = performance.now() + delay;
    this.#setBy = setTimeout;
    this.#timer = setTimeout(() => this.#fire(), delay);
    (this.#timer as { unref?: () => void }).unref?.();
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#until = Infinity;
  }

  #fire(): void {
    // A timer may be a little early by the monotonic clock; the time that it was set for counts as reached.
    const now = Math.max(performance.now(), this.#until);
    this.#until = Infinity;
    this.#onTime(now);
  }
}
