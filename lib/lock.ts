/**
 * A holder and a queue.
 *
 * @module
 */
import { admit, named, readMaxWaiting, readName } from "./internal/check.ts";
import { assertSoundMutex, Mutex } from "./internal/mutex.ts";
import { NotHeldError } from "./errors.ts";
import { runHolding } from "./internal/hold.ts";
import { hook } from "./internal/hook.ts";
import { setPlace } from "./internal/place.ts";
import { show } from "./internal/show.ts";
import { cancelQueues } from "./internal/wait_queue.ts";
import { wrapped } from "./internal/wrap.ts";
import type { Acquirable, Guard, MaxWaitingOptions, WaitOptions } from "./types.ts";

/** For Condition, which lends the lock's hold. */
export let mutexOf: (lock: Lock) => Mutex;

/**
 * Mutual exclusion: one holder at a time; the other callers wait in a queue.
 *
 * Not for counting (that is {@linkcode Semaphore}). Not re-entrant: acquiring it twice deadlocks. Not for one lock per
 * user, order or file: that is {@linkcode KeyedMutex}.
 *
 * Not meant to be extended: guards, `run` and `acquireAll` may pass by what a subclass overrides. Wrap it in a class of your
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
    mutexOf = (lock) => lock.#mutex;
    setPlace(Lock, (lock) => ({ owner: lock.#mutex }));
    show(Lock, "Lock", ["name", "locked", "waiting", "closed"]);
  }

  /**
   * An unlocked lock: it has one holder at a time, the other callers wait in a queue.
   *
   * @param options Its name, and how many calls may wait.
   * @throws {TypeError} when the name is not a string, or `maxWaiting` not a number.
   * @throws {RangeError} when `maxWaiting` is neither a whole number of 0 or more nor `Infinity`.
   */
  constructor(options?: MaxWaitingOptions) {
    this.#mutex = new Mutex(readName(options), readMaxWaiting(options));
  }

  /** Its name, which error messages and diagnostics show. */
  get name(): string | undefined {
    return this.#mutex.name;
  }

  /** Whether it is held. */
  get locked(): boolean {
    return this.#mutex.holder !== undefined;
  }

  /** The length of the queue. */
  get waiting(): number {
    return this.#mutex.queue.size;
  }

  /** Whether it was cancelled. */
  get closed(): boolean {
    return this.#mutex.queue.closed;
  }

  /**
   * Waits for the lock and resolves to the guard that holds it: `using _ = await lock.acquire()`.
   *
   * **Fairness**: strictly first come, first served. The releaser hands off directly to the first waiter; a newcomer
   * never overtakes.
   *
   * **Cancellation**: on abort or time-out the waiter leaves the queue in O(1), and nothing of it is left. An abort after
   * the grant changes nothing: the guard is yours to release.
   *
   * @param options When to stop waiting; `timeout` in milliseconds.
   * @throws {TimeoutError} (as a rejection, like all of these) when the time is over.
   * @throws {QueueFullError} when `maxWaiting` calls are waiting already.
   * @throws {ClosedError} when it was cancelled.
   * @throws {TypeError} for options of a wrong type.
   * @throws {RangeError} for a `timeout` that is NaN or negative.
   */
  acquire(options?: WaitOptions): Promise<Guard> {
    try { // quicker than a function for `promised`
      return this.#mutex.acquire(options === undefined ? undefined : admit(options, this.#mutex));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Returns the guard if the lock is free, else undefined. Synchronous: `lock.tryAcquire() ?? await lock.acquire()` is
   * fastest.
   *
   * @throws {ClosedError} when it was cancelled.
   */
  tryAcquire(): Guard | undefined {
    return this.#mutex.tryAcquire();
  }

  /**
   * Calls `fn` while holding the lock, and releases it when `fn` has ended, either way.
   *
   * **Fairness** and **Cancellation** as in {@linkcode Lock.acquire}; once `fn` runs, the options have no effect.
   *
   * @throws {TypeError} when `fn` is not a function; also rejects as {@linkcode Lock.acquire} and `fn` do.
   */
  run<T>(fn: (guard: Guard) => T | PromiseLike<T>, options?: WaitOptions): Promise<T> {
    return runHolding(this, fn, options);
  }

  /**
   * Returns a function with the parameters, `this` and result of `fn`, each call of which is a {@linkcode Lock.run}: `fn`
   * gets the arguments of the call and nothing else.
   *
   * @throws {TypeError} when `fn` is not a function, or a generator function.
   */
  wrap<This, A extends unknown[], R>(
    fn: (this: This, ...args: A) => R,
  ): (this: This, ...args: A) => Promise<Awaited<R>> {
    return wrapped(fn, (call) => this.run(call));
  }

  /**
   * Releases the lock, whichever caller holds it; the holder's guard is spent. Prefer the guard, which can only release
   * its own hold.
   *
   * @throws {NotHeldError} when the lock is not held.
   */
  release(): void {
    const { holder, name } = this.#mutex;
    if (!holder?.held) throw new NotHeldError(`Cannot ${named("release lock", name)}: lock is not held`);
    if (hook !== undefined) hook.releaseWithoutGuard(holder);
    holder.release();
  }

  /**
   * Closes the lock for good: all waiters reject with `reason`, in order and in one step, and later calls with a
   * {@linkcode ClosedError}. The holder keeps its hold and releases it as usual. The first reason stays.
   *
   * A {@linkcode Condition} on it is not cancelled; a `wait` of one that comes back to the lock rejects with the reason,
   * not holding.
   *
   * @param reason Default: an AbortError.
   */
  cancel(reason?: unknown): void {
    cancelQueues([this.#mutex.queue], reason);
  }
}

/** Throws unless the invariants hold; for tests. */
export function assertSoundLock(lock: Lock): void {
  assertSoundMutex(mutexOf(lock));
}
