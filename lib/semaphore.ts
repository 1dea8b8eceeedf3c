/**
 * A number of permits and a line; with an upper bound in the bounded one.
 *
 * @module
 */
import { checkInteger, promised, readWaitOptions, throwIfAborted } from "./internal/check.ts";
import { Permits } from "./internal/permits.ts";
import { Hold, runHolding } from "./internal/hold.ts";
import { setPlace } from "./internal/place.ts";
import type { Acquirable, Guard, WaitOptions } from "./types.ts";

/** What acquiring a semaphore takes. */
export interface SemaphoreOptions extends WaitOptions {
  /** How many permits to take at once; 1 unless said. */
  readonly permits?: number | undefined;
}

/** For BoundedSemaphore: the most permits that there may be. */
let bound: (semaphore: Semaphore, most: number) => void;

/**
 * Limits how many are inside at once: a number of permits, which holders take and give back.
 *
 * Not for mutual exclusion (that is {@linkcode Lock}), nor for running a list of jobs with limited concurrency (that is
 * {@linkcode Pool}). `release` without having acquired adds permits; where that would be a mistake, use
 * {@linkcode BoundedSemaphore}.
 *
 * @example
 * ```ts
 * import { Semaphore } from "@interlock/interlock";
 *
 * const gateway = new Semaphore(2);
 * using _ = await gateway.acquire();
 * console.log(gateway.value); // 1
 * ```
 */
export class Semaphore implements Acquirable<Guard, SemaphoreOptions> {
  readonly #permits: Permits;

  static {
    bound = (semaphore, most) => semaphore.#permits.most = most;
    setPlace(Semaphore, (semaphore) => ({ owner: semaphore.#permits }));
  }

  /**
   * A semaphore with so many free permits.
   *
   * @param value How many permits there are at first, from 0 up.
   * @throws {TypeError} when `value` is not a number.
   * @throws {RangeError} when it is not a whole number from 0 up.
   */
  constructor(value: number = 1) {
    checkInteger(value, "value", 0);
    this.#permits = new Permits(value);
  }

  /** How many permits are free. */
  get value(): number {
    return this.#permits.value;
  }

  /** Whether a newcomer would have to wait. */
  get locked(): boolean {
    return !this.#permits.fit(1);
  }

  /** How many are in line. */
  get waiting(): number {
    return this.#permits.queue.size;
  }

  /**
   * Waits for permits and resolves to the guard that gives them back.
   *
   * **Fairness**: strictly first come, first served. Somebody who wants many is not overtaken by those who want few,
   * even where theirs would be free.
   *
   * **Cancellation**: on abort or time-out the waiter leaves the line in O(1), nothing of it is left, and those behind
   * it go in if they fit now. An abort after the grant changes nothing.
   *
   * @param options How many permits, and when to give up; `timeout` in milliseconds.
   * @throws {TimeoutError} when the time is over.
   * @throws {TypeError} for options of a wrong type.
   * @throws {RangeError} for `permits` that are not a whole number from 1 up (and to the value of a bounded semaphore),
   *   and for a `timeout` that is NaN or negative.
   */
  acquire(options?: SemaphoreOptions): Promise<Guard> {
    if (options === undefined) return this.#permits.acquire(new Hold(this.#permits));
    return promised(() => {
      const limits = readWaitOptions(options);
      const { permits = 1 } = options;
      checkInteger(permits, "permits", 1, this.#permits.most);
      throwIfAborted(limits);
      return this.#permits.acquire(new Hold(this.#permits, permits), limits);
    });
  }

  /**
   * The guard if so many permits are free and nobody waits, else undefined.
   *
   * @throws {TypeError} when `permits` is not a number.
   * @throws {RangeError} when it is not a whole number from 1 up (and to the value of a bounded semaphore).
   */
  tryAcquire(permits: number = 1): Guard | undefined {
    checkInteger(permits, "permits", 1, this.#permits.most);
    return this.#permits.fit(permits) ? this.#permits.take(new Hold(this.#permits, permits)) : undefined;
  }

  /**
   * Calls `fn` while holding permits, and gives them back however `fn` ends.
   *
   * **Fairness** and **Cancellation** as in {@linkcode Semaphore.acquire}.
   *
   * @throws {TypeError} when `fn` is not a function, and what {@linkcode Semaphore.acquire} and `fn` throw.
   */
  run<T>(fn: (guard: Guard) => T | PromiseLike<T>, options?: SemaphoreOptions): Promise<T> {
    return runHolding(this, fn, options);
  }

  /**
   * Adds permits, and lets in who fits now. Guards know nothing of it: who releases a guard as well gives back twice.
   *
   * @param permits How many, from 1 up.
   * @throws {TypeError} when `permits` is not a number.
   * @throws {RangeError} when it is not a whole number from 1 up, or there would be more than there may be.
   */
  release(permits: number = 1): void {
    checkInteger(permits, "permits", 1);
    this.#permits.give(permits);
  }
}

/**
 * A {@linkcode Semaphore} that never has more permits than at first, so that a release too many is found where it
 * happens.
 *
 * Not for a limit that is to grow: a plain Semaphore does that.
 *
 * @example
 * ```ts
 * import { BoundedSemaphore } from "@interlock/interlock";
 *
 * const seats = new BoundedSemaphore(3);
 * try {
 *   seats.release();
 * } catch (error) {
 *   console.log(error instanceof RangeError); // true
 * }
 * ```
 */
export class BoundedSemaphore extends Semaphore {
  /**
   * A semaphore with so many free permits.
   *
   * @param value How many permits there are at first and at most, from 1 up.
   * @throws {TypeError} when `value` is not a number.
   * @throws {RangeError} when it is not a whole number from 1 up.
   */
  constructor(value: number = 1) {
    checkInteger(value, "value", 1);
    super(value);
    bound(this, value);
  }
}
