/**
 * Permits for each key. Invariant: exactly the keys that are held or waited for have an entry.
 *
 * @module
 */
import { admit, checkInteger, checkKey, checkOptions, promiseTry } from "./internal/check.ts";
import { runHolding } from "./internal/hold.ts";
import { Entries, Key } from "./internal/keyed.ts";
import { Permits } from "./internal/permits.ts";
import { printAs } from "./internal/show.ts";
import { exposeState, stateOf } from "./internal/state.ts";
import type { SemaphoreOptions } from "./semaphore.ts";
import type { Acquirable, Guard, MaxWaitingOptions } from "./types.ts";

/** One key of a {@linkcode KeyedSemaphore} as a semaphore. */
export interface KeyedPermits extends Acquirable<Guard, SemaphoreOptions> {
  /** The name of the semaphore. */
  readonly name: string | undefined;
  /** The key. */
  readonly key: unknown;
  /** The number of free permits of the key. */
  readonly value: number;
  /** Whether a new call would have to wait. */
  readonly locked: boolean;
  /** The length of the key's queue. */
  readonly waiting: number;
  /**
   * Returns the guard if that number of permits is free and the queue is empty, else undefined. Default: 1.
   *
   * @param permits How many permits to take at once. Default: 1.
   */
  tryAcquire(permits?: number): Guard | undefined;
  /**
   * Wraps `fn`: each call goes through `run`. The wrapper has the parameters, `this` and result of `fn`.
   *
   * @param fn The function to wrap.
   */
  wrap<T, A extends unknown[], R>(fn: (this: T, ...args: A) => R): (this: T, ...args: A) => Promise<Awaited<R>>;
}

/**
 * Limits the number of holders of each key: a separate semaphore for each user, host or file.
 *
 * Keys are compared as in a `Map`. An entry lives only while its key is held or waited for, so memory does not grow
 * with the number of keys ever used. For one holder per key, use {@linkcode KeyedMutex}. To limit how often calls
 * start, use {@linkcode KeyedRateLimiter}.
 *
 * Not meant to be extended: wrap it in a class of your own.
 *
 * @typeParam K The keys. Objects need an explicit type argument, because they are compared by identity.
 * @example
 * ```ts
 * import { KeyedSemaphore } from "@interlock/interlock";
 *
 * // At most 2 requests to each host at a time:
 * const hosts = new KeyedSemaphore<string>(2);
 * await hosts.run("example.org", () => {
 *   console.log(hosts.value("example.org")); // 1
 * });
 * console.log(hosts.size); // 0
 * ```
 */
export class KeyedSemaphore<K = string | number | bigint | symbol> {
  // Permits of every entry are held
  readonly #entries: Entries<K, KeyPermits<K>>;
  readonly #permits: number;

  static {
    exposeState(KeyedSemaphore, (semaphore) => semaphore.#entries);
    printAs(KeyedSemaphore, "KeyedSemaphore", ["name", "size", "closed"]);
  }

  /**
   * Creates a semaphore with `permits` free permits for each key.
   *
   * @param permits The number of permits of each key, 1 or more.
   * @param options A name, and how many calls may wait for each key.
   * @throws {TypeError} when `permits` or `maxWaiting` is not a number, or the name is not a string.
   * @throws {RangeError} when `permits` is not a whole number of 1 or more, or `maxWaiting` neither a whole number of 0
   *   or more nor `Infinity`.
   */
  constructor(permits: number, options?: MaxWaitingOptions) {
    checkInteger(permits, "permits", 1);
    this.#permits = permits;
    this.#entries = new Entries(options, (key) => new KeyPermits(this.#entries, key, permits));
  }

  /** The name shown with the key in error messages and diagnostics. */
  get name(): string | undefined {
    return this.#entries.options.name;
  }

  /** The number of keys with permits taken. */
  get size(): number {
    return this.#entries.size;
  }

  /** Whether `cancel()` has closed the semaphore. */
  get closed(): boolean {
    return this.#entries.closed;
  }

  /**
   * The number of free permits of `key`.
   *
   * @param key The key.
   */
  value(key: K): number {
    checkKey(key);
    return this.#entries.get(key)?.value ?? this.#permits;
  }

  /**
   * Whether a new call for `key` would have to wait.
   *
   * @param key The key.
   */
  locked(key: K): boolean {
    checkKey(key);
    return this.#entries.get(key)?.fits(1) === false;
  }

  /**
   * The length of the queue for `key`.
   *
   * @param key The key.
   */
  waiting(key: K): number {
    return this.#entries.waiting(key);
  }

  /**
   * Waits for permits of `key` and resolves to the guard that gives them back.
   *
   * **Fairness**: strictly first come, first served within each key. Large requests are never overtaken by small ones.
   *
   * **Cancellation**: on abort or time-out the waiter leaves the queue in O(1) without a trace, and later waiters that
   * fit now are granted. An abort after the grant has no effect.
   *
   * @param key The key to hold.
   * @param options How many permits, and when to stop waiting; `timeout` in milliseconds.
   * @throws {QueueFullError} when `maxWaiting` calls are waiting for the key already.
   * @throws {ClosedError} when `cancel()` has closed the semaphore before the call. A call that already waits rejects
   *   with the reason of `cancel()`.
   * @throws {TimeoutError} when the timeout has passed.
   * @throws {signal.reason} when the signal aborts.
   * @throws {TypeError} when the key is undefined or a function, or an option has a wrong type.
   * @throws {RangeError} when `permits` is not a whole number from 1 to the permits of a key, or `timeout` is NaN or
   *   negative.
   */
  acquire(key: K, options?: SemaphoreOptions): Promise<Guard> {
    return promiseTry(() => {
      checkKey(key);
      // Check everything before an entry exists: after a throw it would never be removed.
      const { permits = 1 } = checkOptions(options, "permits");
      checkInteger(permits, "permits", 1, this.#permits);
      const limits = options === undefined ? undefined : admit(options, this.#entries, key);
      const entry = this.#entries.of(key);
      return entry.acquire(entry, permits, limits);
    });
  }

  /**
   * Returns the guard if that number of permits of `key` is free and its queue is empty, else undefined.
   *
   * @param key The key to hold.
   * @param permits How many permits to take at once. Default: 1.
   * @throws {ClosedError} when `cancel()` has closed the semaphore.
   * @throws {TypeError} when `permits` is not a number, or the key is undefined or a function.
   * @throws {RangeError} when `permits` is not a whole number from 1 to the permits of a key.
   */
  tryAcquire(key: K, permits: number = 1): Guard | undefined {
    checkKey(key);
    checkInteger(permits, "permits", 1, this.#permits);
    const entry = this.#entries.of(key);
    return entry.tryAcquire(entry, permits);
  }

  /**
   * Calls `fn` while holding permits of `key`, and gives them back when `fn` has ended, even with an error.
   *
   * **Fairness** and **Cancellation** as in {@linkcode KeyedSemaphore.acquire}.
   *
   * @param key The key.
   * @param fn Called with the guard.
   * @param options As for {@linkcode KeyedSemaphore.acquire}; they bound the wait, not `fn`.
   * @throws {TypeError} when `fn` is not a function, or the key is undefined or a function.
   * @throws The errors of {@linkcode KeyedSemaphore.acquire} and of `fn`.
   */
  run<T>(key: K, fn: (guard: Guard) => T | PromiseLike<T>, options?: SemaphoreOptions): Promise<T> {
    return promiseTry(() => runHolding(this.at(key), fn, options));
  }

  /**
   * Returns one key as a semaphore, for code that takes any {@linkcode Acquirable} and for {@linkcode acquireAll}. It
   * holds no entry, so it may be kept or created for each use.
   *
   * @param key The key.
   */
  at(key: K): KeyedPermits {
    return new PermitsKey(this, key);
  }

  /**
   * Closes the semaphore for good, for all keys: all waiters reject with `reason` in one step, in order for each key;
   * later calls reject with a {@linkcode ClosedError}. Holders keep their permits and give them back as usual.
   * Cancelling again has no effect.
   *
   * @param reason Default: an AbortError.
   */
  cancel(reason?: unknown): void {
    this.#entries.close(reason);
  }
}

class PermitsKey<K> extends Key<K, KeyedSemaphore<K>, SemaphoreOptions> implements KeyedPermits {
  get value(): number {
    return stateOf<{ readonly owner: KeyedSemaphore<K> }>(this).owner.value(this.key);
  }
}
printAs(PermitsKey, "KeyedPermits", ["name", "key", "value", "locked", "waiting"]);

/** Permits that remove themselves from the entries when all of them are free. */
class KeyPermits<K> extends Permits {
  readonly #entries: Entries<K, KeyPermits<K>>;
  readonly key: K;

  constructor(entries: Entries<K, KeyPermits<K>>, key: K, permits: number) {
    super(permits, entries.options);
    this.most = permits;
    this.#entries = entries;
    this.key = key;
  }

  get noun(): string {
    return "semaphore";
  }

  override get kind(): string {
    return "key";
  }

  override onRelease(permits: number): void {
    super.onRelease(permits);
    if (this.value === this.most) this.#entries.delete(this.key);
  }
}
