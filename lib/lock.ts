/**
 * A holder and a line.
 *
 * @module
 */
import { admit, promised } from "./internal/check.ts";
import { Mutex } from "./internal/mutex.ts";
import { NotHeldError } from "./errors.ts";
import { runHolding } from "./internal/hold.ts";
import { setPlace } from "./internal/place.ts";
import type { Acquirable, Guard, WaitOptions } from "./types.ts";

/** For Condition, which lends the lock's hold. */
export let mutexOf: (lock: Lock) => Mutex;

/**
 * Mutual exclusion: one holder at a time, the others wait in line.
 *
 * Not for counting (that is {@linkcode Semaphore}), not re-entrant: who holds it and acquires it again waits for
 * itself. Not for one lock per user, order or file: that is {@linkcode KeyedMutex}.
 *
 * @example
 * ```ts
 * import { Lock } from "@interlock/interlock";
 *
 * const lock = new Lock();
 * {
 *   using _ = await lock.acquire();
 *   // Nobody else is in here.
 * }
 * console.log(lock.locked); // false
 * ```
 */
export class Lock implements Acquirable<Guard> {
  readonly #mutex = new Mutex();

  static {
    mutexOf = (lock) => lock.#mutex;
    setPlace(Lock, (lock) => ({ owner: lock.#mutex }));
  }

  /** Whether somebody holds it. */
  get locked(): boolean {
    return this.#mutex.holder !== undefined;
  }

  /** How many are in line. */
  get waiting(): number {
    return this.#mutex.queue.size;
  }

  /**
   * Waits for the lock and resolves to the guard that holds it.
   *
   * **Fairness**: strictly first come, first served. The releaser hands the lock over to the first in line, in the same
   * step; a newcomer never overtakes.
   *
   * **Cancellation**: on abort or time-out the waiter leaves the line in O(1) and nothing of it is left. An abort after
   * the grant changes nothing: the guard is yours to release.
   *
   * @param options When to give up; `timeout` in milliseconds.
   * @throws {TimeoutError} (as a rejection, like all of these) when the time is over.
   * @throws {TypeError} for options of a wrong type.
   * @throws {RangeError} for a `timeout` that is NaN or negative.
   */
  acquire(options?: WaitOptions): Promise<Guard> {
    if (options === undefined) return this.#mutex.acquire();
    return promised(() => this.#mutex.acquire(admit(options)));
  }

  /** The guard if the lock is free, else undefined. Synchronous: `lock.tryAcquire() ?? await lock.acquire()` is fastest. */
  tryAcquire(): Guard | undefined {
    return this.#mutex.tryAcquire();
  }

  /**
   * Calls `fn` while holding the lock, and releases it however `fn` ends.
   *
   * **Fairness** and **Cancellation** as in {@linkcode Lock.acquire}; once `fn` runs, the options no longer matter.
   *
   * @throws {TypeError} when `fn` is not a function, and what {@linkcode Lock.acquire} and `fn` throw.
   */
  run<T>(fn: (guard: Guard) => T | PromiseLike<T>, options?: WaitOptions): Promise<T> {
    return runHolding(this, fn, options);
  }

  /**
   * Releases the lock whoever holds it; the holder's guard is spent by that. Prefer the guard, which can only release
   * its own hold.
   *
   * @throws {NotHeldError} when nobody holds the lock.
   */
  release(): void {
    if (this.#mutex.holder === undefined) throw new NotHeldError("Cannot release lock: lock is not held");
    this.#mutex.holder.release();
  }
}
