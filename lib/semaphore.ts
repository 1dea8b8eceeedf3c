/**
 * A number of permits and a queue; with an upper bound in the bounded one.
 *
 * @module
 */
import { checkInteger, promised, readName, readWaitOptions, throwIfAborted } from "./internal/check.ts";
import { Permits } from "./internal/permits.ts";
import { Hold, runHolding } from "./internal/hold.ts";
import { setPlace } from "./internal/place.ts";
import { show } from "./internal/show.ts";
import type { Acquirable, Guard, NameOptions, WaitOptions } from "./types.ts";

/** Options of {@linkcode Semaphore.acquire} and {@linkcode Semaphore.run}. */
export interface SemaphoreOptions extends WaitOptions {
  /** How many permits to take at once. Default: 1. */
  readonly permits?: number | undefined;
}

/** For BoundedSemaphore: sets the most permits that there may be. */
let bound: (semaphore: Semaphore, most: number) => void;

/**
 * Limits how many hold it at a time: a number of permits, which holders take and give back.
 *
 * Not for mutual exclusion (that is {@linkcode Lock}), nor for running a list of jobs with limited concurrency (that is
 * {@linkcode Pool}). `release` without having acquired adds permits; if that would be a mistake, use
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
    show(Semaphore, ["name", "value", "locked", "waiting"]);
  }

  /**
   * A semaphore with free permits only.
   *
   * @param value The initial number of permits, 0 or more.
   * @param options Its name.
   * @throws {TypeError} when `value` is not a number, or the name is not a string.
   * @throws {RangeError} when `value` is not a whole number of 0 or more.
   */
  constructor(value: number = 1, options?: NameOptions) {
    checkInteger(value, "value", 0);
    this.#permits = new Permits(value, readName(options));
  }

  /** Its name, which error messages and diagnostics show. */
  get name(): string | undefined {
    return this.#permits.name;
  }

  /** The number of free permits. */
  get value(): number {
    return this.#permits.value;
  }

  /** Whether a newcomer would have to wait. */
  get locked(): boolean {
    return !this.#permits.fit(1);
  }

  /** The length of the queue. */
  get waiting(): number {
    return this.#permits.queue.size;
  }

  /**
   * Waits for permits and resolves to the guard that gives them back.
   *
   * **Fairness**: strictly first come, first served. Large requests are never overtaken by small ones, even if those
   * would fit.
   *
   * **Cancellation**: on abort or time-out the waiter leaves the queue in O(1), nothing of it is left, and those behind
   * it are granted if they fit now. An abort after the grant changes nothing.
   *
   * @param options How many permits, and when to stop waiting; `timeout` in milliseconds.
   * @throws {TimeoutError} when the time is over.
   * @throws {TypeError} for options of a wrong type.
   * @throws {RangeError} for `permits` that are not a whole number of 1 or more (and at most the value of a bounded
   *   semaphore), and for a `timeout` that is NaN or negative.
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
   * The guard if that number of permits is free and the queue is empty, else undefined.
   *
   * @param permits How many permits to take at once. Default: 1.
   * @throws {TypeError} when `permits` is not a number.
   * @throws {RangeError} when it is not a whole number of 1 or more (and at most the value of a bounded semaphore).
   */
  tryAcquire(permits: number = 1): Guard | undefined {
    checkInteger(permits, "permits", 1, this.#permits.most);
    return this.#permits.fit(permits) ? this.#permits.take(new Hold(this.#permits, permits)) : undefined;
  }

  /**
   * Calls `fn` while holding permits, and gives them back when `fn` has ended, either way.
   *
   * **Fairness** and **Cancellation** as in {@linkcode Semaphore.acquire}; once `fn` runs, the options have no effect.
   *
   * @throws {TypeError} when `fn` is not a function; also rejects as {@linkcode Semaphore.acquire} and `fn` do. An error
   *   of `fn` is never replaced by one of giving back.
   */
  run<T>(fn: (guard: Guard) => T | PromiseLike<T>, options?: SemaphoreOptions): Promise<T> {
    return runHolding(this, fn, options);
  }

  /**
   * Adds permits, and grants to the waiters that fit now. Independent of the guards: releasing a guard as well gives
   * back twice.
   *
   * @param permits How many, 1 or more. Default: 1.
   * @throws {TypeError} when `permits` is not a number.
   * @throws {RangeError} when it is not a whole number of 1 or more, or a bounded semaphore would exceed its initial value.
   */
  release(permits: number = 1): void {
    checkInteger(permits, "permits", 1);
    this.#permits.give(permits);
  }
}

/**
 * A {@linkcode Semaphore} that throws on over-release: it never has more permits than initially.
 *
 * Not for a limit that grows: that is a plain Semaphore.
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
   * A semaphore with free permits only.
   *
   * @param value The initial and greatest number of permits, 1 or more.
   * @param options Its name.
   * @throws {TypeError} when `value` is not a number, or the name is not a string.
   * @throws {RangeError} when `value` is not a whole number of 1 or more.
   */
  constructor(value: number = 1, options?: NameOptions) {
    checkInteger(value, "value", 1);
    super(value, options);
    bound(this, value);
  }
}
