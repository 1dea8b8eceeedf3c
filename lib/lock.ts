/**
 * Mutual exclusion: a holder and a queue. Invariant: calls wait only while the lock is held.
 *
 * @module
 */
import { admit, checkOwn, readQueueOptions, withName } from "./internal/check.ts";
import { Mutex } from "./internal/mutex.ts";
import { NotHeldError } from "./errors.ts";
import { runHolding } from "./internal/hold.ts";
import { hook } from "./internal/hook.ts";
import { printAs } from "./internal/show.ts";
import { COPY, exposeState } from "./internal/state.ts";
import { closeQueues } from "./internal/wait_queue.ts";
import { wrapFunction } from "./internal/wrap.ts";
import type { Acquirable, Guard, MaxWaitingOptions, WaitOptions } from "./types.ts";

/**
 * Mutual exclusion: one holder at a time, while other callers wait in a queue.
 *
 * Not re-entrant: acquiring it twice deadlocks. For several holders, use {@linkcode Semaphore}. For one lock per user,
 * order or file, use {@linkcode KeyedMutex}.
 *
 * Not meant to be extended: guards, `run` and `acquireAll` may bypass overridden methods. Wrap it in a class of your
 * own.
 *
 * @example
 * ```ts
 * import { Lock } from "@interlock/interlock";
 *
 * const lock = new Lock();
 * {
 *   using _ = await lock.acquire();
 *   // One caller at a time in here.
 * }
 * console.log(lock.locked); // false
 * ```
 */
export class Lock implements Acquirable<Guard> {
  readonly #mutex: Mutex;

  static {
    exposeState(Lock, (lock) => ({ owner: lock.#mutex, copy: COPY }));
    printAs(Lock, "Lock", ["name", "locked", "waiting", "closed"]);
  }

  /**
   * Creates an unlocked lock.
   *
   * @param options A name, and how many calls may wait.
   * @throws {TypeError} when the name is not a string, or `maxWaiting` not a number.
   * @throws {RangeError} when `maxWaiting` is neither a whole number of 0 or more nor `Infinity`.
   */
  constructor(options?: MaxWaitingOptions) {
    this.#mutex = new Mutex(readQueueOptions(options));
  }

  /** The name shown in error messages and diagnostics. */
  get name(): string | undefined {
    return this.#mutex.name;
  }

  /** Whether the lock is held. */
  get locked(): boolean {
    return this.#mutex.holder !== undefined;
  }

  /** The length of the queue. */
  get waiting(): number {
    return this.#mutex.queue.size;
  }

  /** Whether `cancel()` has closed the lock. */
  get closed(): boolean {
    return this.#mutex.queue.closed;
  }

  /**
   * Waits for the lock and resolves to the guard that holds it: `using _ = await lock.acquire()`.
   *
   * **Fairness**: strictly first come, first served. The releaser hands off directly to the first waiter, and a new
   * call never overtakes.
   *
   * **Cancellation**: on abort or time-out the waiter leaves the queue in O(1) without a trace. An abort after the
   * grant has no effect: the caller has the guard and must release it.
   *
   * @param options When to stop waiting; `timeout` in milliseconds.
   * @throws {TimeoutError} when the timeout has passed.
   * @throws {signal.reason} when the signal aborts.
   * @throws {QueueFullError} when `maxWaiting` calls are waiting already.
   * @throws {ClosedError} when `cancel()` has closed the lock before the call. A call that already waits rejects with
   *   the reason of `cancel()`.
   * @throws {TypeError} when an option has a wrong type.
   * @throws {RangeError} when `timeout` is NaN or negative.
   */
  acquire(options?: WaitOptions): Promise<Guard> {
    try { // quicker than `promiseTry`, which takes a closure
      const mutex = this.#mutex;
      return mutex.acquire(options === undefined ? undefined : admit(options, mutex.queue, mutex));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Returns the guard if the lock is free, else undefined. Synchronous: `lock.tryAcquire() ?? await lock.acquire()` is
   * fastest.
   *
   * @throws {ClosedError} when `cancel()` has closed the lock.
   */
  tryAcquire(): Guard | undefined {
    return this.#mutex.tryAcquire();
  }

  /**
   * Calls `fn` while holding the lock, and releases the lock when `fn` has ended, even with an error.
   *
   * **Fairness** and **Cancellation** as in {@linkcode Lock.acquire}.
   *
   * @param fn Called with the guard.
   * @param options As for {@linkcode Lock.acquire}; they bound the wait, not `fn`.
   * @throws {TypeError} when `fn` is not a function.
   * @throws The errors of {@linkcode Lock.acquire} and of `fn`.
   *
   * @example
   * ```ts
   * import { Lock } from "@interlock/interlock";
   *
   * const lock = new Lock();
   * let total = 0;
   * const add = (n: number) =>
   *   lock.run(async () => {
   *     const before = total;
   *     await Promise.resolve(); // other calls wait for the lock meanwhile
   *     total = before + n;
   *   });
   * await Promise.all([add(1), add(2)]);
   * console.log(total); // 3
   * ```
   */
  run<T>(fn: (guard: Guard) => T | PromiseLike<T>, options?: WaitOptions): Promise<T> {
    return runHolding(this, fn, options);
  }

  /**
   * Wraps `fn`, keeping its parameters, `this` and result: each call goes through {@linkcode Lock.run}. `fn` gets only
   * the arguments of the call.
   *
   * @param fn The function to wrap.
   * @throws {TypeError} when `fn` is not a function, or is a generator function.
   *
   * @example
   * ```ts
   * import { Lock } from "@interlock/interlock";
   *
   * const lock = new Lock();
   * const save = lock.wrap(async (text: string) => { // one call at a time
   *   await Promise.resolve();
   *   return `saved ${text}`;
   * });
   * const results = await Promise.all([save("a"), save("b")]);
   * console.log(results); // [ 'saved a', 'saved b' ]
   * ```
   */
  wrap<T, A extends unknown[], R>(fn: (this: T, ...args: A) => R): (this: T, ...args: A) => Promise<Awaited<R>> {
    return wrapFunction(fn, (call) => this.run(call));
  }

  /**
   * Releases the lock, whichever caller holds it. The holder's guard then holds nothing. Prefer `release()` of the
   * guard, which can end only its own hold.
   *
   * @throws {NotHeldError} when the lock is not held.
   */
  release(): void {
    checkOwn(this, Lock);
    const { holder, name } = this.#mutex;
    if (!holder?.held) throw new NotHeldError(`Cannot ${withName("release lock", name)}: lock is not held`);
    hook?.releaseWithoutGuard(holder);
    holder.release();
  }

  /**
   * Closes the lock for good: all waiters reject with `reason`, in order and in one step; later calls reject with a
   * {@linkcode ClosedError}. The holder keeps its hold and releases it as usual. Cancelling again has no effect.
   *
   * A {@linkcode Condition} on the lock stays open, but a `wait` that tries to take the lock back rejects with the
   * reason, without the lock.
   *
   * @param reason Default: an AbortError.
   */
  cancel(reason?: unknown): void {
    closeQueues([this.#mutex.queue], reason);
  }
}
