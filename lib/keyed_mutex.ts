/**
 * A mutex for each key. Invariant: exactly the keys that are held have one.
 *
 * @module
 */
import { admit, checkFunction, checkKey } from "./internal/check.ts";
import { Entries, Key } from "./internal/keyed.ts";
import { Mutex } from "./internal/mutex.ts";
import { runHolding } from "./internal/hold.ts";
import { printAs } from "./internal/show.ts";
import { exposeState } from "./internal/state.ts";
import type { Acquirable, Guard, MaxWaitingOptions, WaitOptions } from "./types.ts";

/** One key of a {@linkcode KeyedMutex} as a lock. */
export interface KeyedLock extends Acquirable<Guard> {
  /** The name of the mutex. */
  readonly name: string | undefined;
  /** The key. */
  readonly key: unknown;
  /** Whether the key is held. */
  readonly locked: boolean;
  /** The length of the key's queue. */
  readonly waiting: number;
  /** Returns the guard if the key is free, else undefined. */
  tryAcquire(): Guard | undefined;
  /**
   * Wraps `fn`: each call goes through `run`. The wrapper has the parameters, `this` and result of `fn`.
   *
   * @param fn The function to wrap.
   */
  wrap<T, A extends unknown[], R>(fn: (this: T, ...args: A) => R): (this: T, ...args: A) => Promise<Awaited<R>>;
}

/**
 * Mutual exclusion per key: a separate queue for each user, order or file.
 *
 * Keys are compared as in a `Map`: NaN equals itself, objects and symbols are compared by identity. An entry lives only
 * while its key is held, so memory does not grow with the number of keys ever used. To limit how many keys are held at
 * a time, use {@linkcode Semaphore}. For one lock with a fixed name, use {@linkcode Lock}.
 *
 * Not meant to be extended: guards, `run` and `acquireAll` may bypass overridden methods. Wrap it in a class of your
 * own.
 *
 * @typeParam K The keys. Objects need an explicit type argument, because they are compared by identity.
 * @example
 * ```ts
 * import { KeyedMutex } from "@interlock/interlock";
 *
 * const users = new KeyedMutex<number>();
 * const order = (user: number, id: number) =>
 *   users.run(user, () => console.log(`user ${user}: order ${id}`));
 * // 101 runs before 102; 201 waits for neither:
 * await Promise.all([order(1, 101), order(1, 102), order(2, 201)]);
 * console.log(users.size); // 0
 * ```
 */
export class KeyedMutex<K = string | number | bigint | symbol> {
  // The key of every entry is held
  readonly #entries: Entries<K, KeyMutex<K>>;

  static {
    exposeState(KeyedMutex, (mutex) => mutex.#entries);
    printAs(KeyedMutex, "KeyedMutex", ["name", "size", "closed"]);
  }

  /**
   * Creates a mutex without held keys.
   *
   * @param options A name, and how many calls may wait for each key.
   * @throws {TypeError} when the name is not a string, or `maxWaiting` not a number.
   * @throws {RangeError} when `maxWaiting` is neither a whole number of 0 or more nor `Infinity`.
   */
  constructor(options?: MaxWaitingOptions) {
    this.#entries = new Entries(options, (key) => new KeyMutex(this.#entries, key));
  }

  /** The name shown with the key in error messages and diagnostics. */
  get name(): string | undefined {
    return this.#entries.options.name;
  }

  /** The number of keys that are held. */
  get size(): number {
    return this.#entries.size;
  }

  /** Whether `cancel()` has closed the mutex. */
  get closed(): boolean {
    return this.#entries.closed;
  }

  /**
   * Whether `key` is held.
   *
   * @param key The key.
   */
  locked(key: K): boolean {
    checkKey(key);
    return this.#entries.has(key);
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
   * Waits for `key` and resolves to the guard that holds it: `using _ = await users.acquire(id)`.
   *
   * **Fairness**: strictly first come, first served within each key.
   *
   * **Cancellation**: on abort or time-out the waiter leaves the queue in O(1) without a trace. An abort after the
   * grant has no effect.
   *
   * @param key The key to hold.
   * @param options When to stop waiting; `timeout` in milliseconds.
   * @throws {TimeoutError} when the timeout has passed.
   * @throws {signal.reason} when the signal aborts.
   * @throws {QueueFullError} when `maxWaiting` calls are waiting for the key already.
   * @throws {ClosedError} when `cancel()` has closed the mutex before the call. A call that already waits rejects with
   *   the reason of `cancel()`.
   * @throws {TypeError} when the key is undefined or a function, or an option has a wrong type.
   * @throws {RangeError} when `timeout` is NaN or negative.
   */
  acquire(key: K, options?: WaitOptions): Promise<Guard> {
    try { // quicker than `promiseTry`, which takes a closure
      checkKey(key);
      // Check everything before an entry exists: after a throw it would never be removed.
      const limits = options === undefined ? undefined : admit(options, this.#entries, key);
      return this.#entries.of(key).acquire(limits);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Returns the guard if `key` is free, else undefined.
   *
   * @param key The key to hold.
   * @throws {TypeError} when the key is undefined or a function.
   * @throws {ClosedError} when `cancel()` has closed the mutex.
   */
  tryAcquire(key: K): Guard | undefined {
    checkKey(key);
    return this.#entries.of(key).tryAcquire();
  }

  /**
   * Calls `fn` while holding `key`, and releases the key when `fn` has ended, even with an error.
   *
   * **Fairness** and **Cancellation** as in {@linkcode KeyedMutex.acquire}.
   *
   * @param key The key.
   * @param fn Called with the guard.
   * @param options As for {@linkcode KeyedMutex.acquire}; they bound the wait, not `fn`.
   * @throws {TypeError} when `fn` is not a function, or the key is undefined or a function.
   * @throws The errors of {@linkcode KeyedMutex.acquire} and of `fn`.
   *
   * @example
   * ```ts
   * import { KeyedMutex } from "@interlock/interlock";
   *
   * const users = new KeyedMutex<number>();
   * const balances = new Map([[7, 100]]);
   * const pay = (user: number, amount: number) =>
   *   users.run(user, async () => {
   *     const before = balances.get(user)!;
   *     await Promise.resolve(); // a query, during which other calls run
   *     balances.set(user, before - amount);
   *   });
   * await Promise.all([pay(7, 30), pay(7, 20)]);
   * console.log(balances.get(7)); // 50
   * ```
   */
  run<T>(key: K, fn: (guard: Guard) => T | PromiseLike<T>, options?: WaitOptions): Promise<T> {
    try {
      checkKey(key);
      checkFunction(fn);
      const limits = options === undefined ? undefined : admit(options, this.#entries, key);
      return runHolding(this.#entries.of(key), fn, limits);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Returns one key as a lock, for code that takes any {@linkcode Acquirable} and for {@linkcode acquireAll}. It holds
   * no entry, so it may be kept or created for each use.
   *
   * @param key The key.
   *
   * @example
   * ```ts
   * import { KeyedMutex } from "@interlock/interlock";
   *
   * const users = new KeyedMutex<string>();
   * const ada = users.at("ada");
   * using _ = await ada.acquire({ timeout: 1000 });
   * console.log(ada.locked, users.at("bob").locked); // true false
   * ```
   */
  at(key: K): KeyedLock {
    return new Key(this, key);
  }

  /**
   * Closes the mutex for good, for all keys: all waiters reject with `reason` in one step, in order for each key; later
   * calls reject with a {@linkcode ClosedError}. Holders keep their keys and release them as usual. Cancelling again
   * has no effect.
   *
   * @param reason Default: an AbortError.
   */
  cancel(reason?: unknown): void {
    this.#entries.close(reason);
  }
}

/** A mutex that removes itself from the entries when its key is free. */
class KeyMutex<K> extends Mutex {
  readonly #entries: Entries<K, KeyMutex<K>>;
  readonly key: K;

  constructor(entries: Entries<K, KeyMutex<K>>, key: K) {
    super(entries.options);
    this.#entries = entries;
    this.key = key;
  }

  get noun(): string {
    return "lock";
  }

  override get kind(): string {
    return "key";
  }

  override onRelease(): void {
    super.onRelease();
    if (this.holder === undefined) this.#entries.delete(this.key);
  }
}
