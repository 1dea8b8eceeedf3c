/**
 * Local time. Invariant: only the monotonic clock decides anything, and no timer of this module keeps a process alive
 * or fires early, however long its time.
 *
 * @module
 */

/** Milliseconds on the monotonic clock. */
export function now(): number {
  return performance.now();
}

/** Timers count to 2^31 - 1; what is longer would fire at once. */
const LONGEST = 2 ** 31 - 1;

/** A timer that can be stopped and is let go of by the process. */
export class Alarm {
  #timer: ReturnType<typeof setTimeout> | undefined;
  #at = Infinity;
  readonly #ring: () => void;
  readonly #keepsAlive: boolean;

  constructor(ring: () => void, keepsAlive = false) {
    this.#ring = ring;
    this.#keepsAlive = keepsAlive;
  }

  /** Sets the moment, in place of an earlier one; `Infinity` sets none. */
  set(at: number): void {
    this.clear();
    if (at === Infinity) return;
    this.#at = at;
    this.#start();
  }

  /** Sets the moment only if it is earlier than the one that is set. */
  advance(at: number): void {
    if (at < this.#at) this.set(at);
  }

  clear(): void {
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#at = Infinity;
  }

  #start(): void {
    const ms = Math.min(Math.max(0, Math.ceil(this.#at - now())), LONGEST);
    this.#timer = setTimeout(() => this.#fired(), ms);
    // Browsers, and older run-times, have numbers here.
    if (!this.#keepsAlive) (this.#timer as unknown as { unref?: () => void }).unref?.();
  }

  #fired(): void {
    if (now() < this.#at) return this.#start();
    this.#timer = undefined;
    this.#at = Infinity;
    this.#ring();
  }
}

/** Resolves after `ms` milliseconds. Keeps the process alive: somebody waits for what comes after it. */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
