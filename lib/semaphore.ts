/**
 * A number of permits and a queue, with an upper bound in BoundedSemaphore. Invariant: the first waiter wants more
 * permits than are free.
 *
 * @module
 */
import { admit, checkInteger, checkOptions, checkOwn, readQueueOptions } from "./internal/check.ts";
import { Permits } from "./internal/permits.ts";
import { runHolding } from "./internal/hold.ts";
import { printAs } from "./internal/show.ts";
import { COPY, exposeState, stateOf } from "./internal/state.ts";
import { closeQueues } from "./internal/wait_queue.ts";
import { wrapFunction } from "./internal/wrap.ts";
import type { Acquirable, Guard, MaxWaitingOptions, WaitOptions } from "./types.ts";

/** Options of {@linkcode Semaphore.acquire} and {@linkcode Semaphore.run}. */
export interface SemaphoreOptions extends WaitOptions {
  /** How many permits to take at once. Default: 1. */
  readonly permits?: number | undefined;
}

/**
 * Limits concurrency by a number of permits, which holders take and give back.
 *
 * For mutual exclusion, use {@linkcode Lock}. To run a list of jobs with limited concurrency, use {@linkcode Pool}.
 * `release` without an acquisition adds permits; to make that an error, use {@linkcode BoundedSemaphore}.
 *
 * Not meant to be extended: guards, `run` and `acquireAll` may bypass overridden methods. Wrap it in a class of your
 * own.
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
    exposeState(Semaphore, (semaphore) => ({ owner: semaphore.#permits, copy: COPY }));
    printAs(Semaphore, "Semaphore", ["name", "value", "locked", "waiting", "closed"]);
  }

  /**
   * Creates a semaphore with `value` free permits.
   *
   * @param value The initial number of permits, 0 or more.
   * @param options A name, and how many calls may wait.
   * @throws {TypeError} when `value` or `maxWaiting` is not a number, or the name is not a string.
   * @throws {RangeError} when `value` is not a whole number of 0 or more, or `maxWaiting` neither that nor `Infinity`.
   */
  constructor(value: number = 1, options?: MaxWaitingOptions) {
    checkInteger(value, "value", 0);
    this.#permits = new Permits(value, readQueueOptions(options));
  }

  /** The name shown in error messages and diagnostics. */
  get name(): string | undefined {
    return this.#permits.name;
  }

  /** The number of free permits. */
  get value(): number {
    return Math.max(0, this.#permits.value);
  }

  /** Whether a new call would have to wait. */
  get locked(): boolean {
    return !this.#permits.fits(1);
  }

  /** The length of the queue. */
  get waiting(): number {
    return this.#permits.queue.size;
  }

  /** Whether `cancel()` has closed the semaphore. */
  get closed(): boolean {
    return this.#permits.queue.closed;
  }

  /**
   * Waits for permits and resolves to the guard that gives them back: `using _ = await semaphore.acquire()`.
   *
   * **Fairness**: strictly first come, first served. Large requests are never overtaken by small ones, even if the
   * small ones would fit.
   *
   * **Cancellation**: on abort or time-out the waiter leaves the queue in O(1) without a trace, and later waiters that
   * fit now are granted. An abort after the grant has no effect.
   *
   * @param options How many permits, and when to stop waiting; `timeout` in milliseconds.
   * @throws {TimeoutError} when the timeout has passed.
   * @throws {signal.reason} when the signal aborts.
   * @throws {QueueFullError} when `maxWaiting` calls are waiting already.
   * @throws {ClosedError} when `cancel()` has closed the semaphore before the call. A call that already waits rejects
   *   with the reason of `cancel()`.
   * @throws {TypeError} when an option has a wrong type.
   * @throws {RangeError} when `permits` is not a whole number of 1 or more (and at most the limit of a bounded
   *   semaphore), or `timeout` is NaN or negative.
   *
   * @example
   * ```ts
   * import { Semaphore } from "@interlock/interlock";
   *
   * const memory = new Semaphore(8); // in GB
   * using _ = await memory.acquire({ permits: 6 });
   * console.log(memory.value, memory.tryAcquire(3)); // 2 undefined
   * ```
   */
  acquire(options?: SemaphoreOptions): Promise<Guard> {
    const core = this.#permits;
    try { // quicker than `promiseTry`, which takes a closure
      if (options === undefined) return core.acquire(core, 1);
      const { permits = 1 } = checkOptions(options, "permits");
      checkInteger(permits, "permits", 1, core.largest);
      return core.acquire(core, permits, admit(options, core.queue, core));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Returns the guard if that number of permits is free and the queue is empty, else undefined.
   *
   * @param permits How many permits to take at once. Default: 1.
   * @throws {TypeError} when `permits` is not a number.
   * @throws {RangeError} when `permits` is not a whole number of 1 or more (and at most the limit of a bounded
   *   semaphore).
   * @throws {ClosedError} when `cancel()` has closed the semaphore.
   */
  tryAcquire(permits: number = 1): Guard | undefined {
    const core = this.#permits;
    checkInteger(permits, "permits", 1, core.largest);
    return core.tryAcquire(core, permits);
  }

  /**
   * Calls `fn` while holding permits, and gives them back when `fn` has ended, even with an error.
   *
   * **Fairness** and **Cancellation** as in {@linkcode Semaphore.acquire}.
   *
   * @param fn Called with the guard.
   * @param options As for {@linkcode Semaphore.acquire}; they bound the wait, not `fn`.
   * @throws {TypeError} when `fn` is not a function.
   * @throws The errors of {@linkcode Semaphore.acquire} and of `fn`. An error of `fn` is never replaced by an error of
   *   releasing.
   */
  run<T>(fn: (guard: Guard) => T | PromiseLike<T>, options?: SemaphoreOptions): Promise<T> {
    return runHolding(this, fn, options);
  }

  /**
   * Wraps `fn`, keeping its parameters, `this` and result: each call goes through {@linkcode Semaphore.run}. `fn` gets
   * only the arguments of the call.
   *
   * @param fn The function to wrap.
   * @throws {TypeError} when `fn` is not a function, or is a generator function.
   */
  wrap<T, A extends unknown[], R>(fn: (this: T, ...args: A) => R): (this: T, ...args: A) => Promise<Awaited<R>> {
    return wrapFunction(fn, (call) => this.run(call));
  }

  /**
   * Adds permits and grants them to the waiters that fit now. It does not affect any guard: if you also release the
   * guard, the permits are given back twice.
   *
   * @param permits How many, 1 or more. Default: 1.
   * @throws {TypeError} when `permits` is not a number.
   * @throws {RangeError} when `permits` is not a whole number of 1 or more, or a bounded semaphore would exceed its
   *   limit.
   */
  release(permits: number = 1): void {
    checkOwn(this, Semaphore);
    checkInteger(permits, "permits", 1);
    this.#permits.give(permits);
  }

  /**
   * Closes the semaphore for good: all waiters reject with `reason`, in order and in one step; later calls reject with
   * a {@linkcode ClosedError}. Holders keep their permits and give them back as usual. Cancelling again has no effect.
   *
   * @param reason Default: an AbortError.
   */
  cancel(reason?: unknown): void {
    closeQueues([this.#permits.queue], reason);
  }
}

/**
 * A {@linkcode Semaphore} that throws on over-release: it never has more permits than its limit, which can be changed.
 *
 * For permits that holders do not give back, such as units that are produced and consumed, use a plain Semaphore.
 *
 * Not meant to be extended: guards, `run` and `acquireAll` may bypass overridden methods. Wrap it in a class of your
 * own.
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
   * Creates a semaphore with `limit` free permits. Releasing more than were taken throws.
   *
   * @param limit The number of permits, 1 or more.
   * @param options A name, and how many calls may wait.
   * @throws {TypeError} when `limit` or `maxWaiting` is not a number, or the name is not a string.
   * @throws {RangeError} when `limit` is not a whole number of 1 or more, or `maxWaiting` neither a whole number of 0
   *   or more nor `Infinity`.
   */
  constructor(limit: number = 1, options?: MaxWaitingOptions) {
    checkInteger(limit, "limit", 1);
    super(limit, options);
    permitsOf(this).most = limit;
  }

  /**
   * The maximum number of permits taken at a time. Raising it grants waiters that fit now in the same step. Lowering it
   * revokes none: `value` is 0 until enough permits are given back. 0 pauses the semaphore: all requests wait. A waiter
   * that wants more than a new limit keeps waiting.
   *
   * @throws {TypeError} when the new value is not a number.
   * @throws {RangeError} when the new value is not a whole number of 0 or more.
   *
   * @example
   * ```ts
   * import { BoundedSemaphore } from "@interlock/interlock";
   *
   * const connections = new BoundedSemaphore(1);
   * const first = await connections.acquire();
   * const waiting = connections.acquire();
   * connections.limit = 2; // grants the waiting call
   * const second = await waiting;
   * connections.limit = 1; // revokes nothing
   * console.log(first.held, second.held, connections.value); // true true 0
   * ```
   */
  get limit(): number {
    return permitsOf(this).most;
  }

  set limit(limit: number) {
    checkInteger(limit, "limit", 0);
    permitsOf(this).setMost(limit);
  }
}
printAs(BoundedSemaphore, "BoundedSemaphore", ["name", "value", "limit", "locked", "waiting", "closed"]);

function permitsOf(semaphore: BoundedSemaphore): Permits {
  return stateOf<{ readonly owner: Permits }>(semaphore).owner;
}
