/**
 * A mutex for each key that is held or waited for, and for no other.
 *
 * @module
 */
import { admit, named, promised, quote, readName } from "./internal/check.ts";
import { Mutex } from "./internal/mutex.ts";
import { runHolding } from "./internal/hold.ts";
import { setPlace } from "./internal/place.ts";
import { show } from "./internal/show.ts";
import type { Acquirable, Guard, NameOptions, WaitOptions } from "./types.ts";

/** One key of a {@linkcode KeyedMutex}, as a lock. */
export interface KeyedLock extends Acquirable<Guard> {
  /** The name of the mutex. */
  readonly name: string | undefined;
  /** The key. */
  readonly key: unknown;
  /** Whether the key is held. */
  readonly locked: boolean;
  /** The length of the key's queue. */
  readonly waiting: number;
  /** The guard if the key is free, else undefined. */
  tryAcquire(): Guard | undefined;
}

/**
 * Mutual exclusion per key: one queue for each user, order or file, instead of one for all.
 *
 * Keys are compared as in a `Map`: NaN equals itself, objects and symbols count by identity. An entry lives only while
 * its key is held or waited for, so memory does not grow with the number of keys ever used. Not for limiting how many
 * keys are held at a time: that is {@linkcode Semaphore}. Not for one lock with a fixed name: that is {@linkcode Lock}.
 *
 * @typeParam K The keys.
 * @example
 * ```ts
 * import { KeyedMutex } from "@interlock/interlock";
 *
 * const users = new KeyedMutex<number>();
 * const order = (user: number, id: number) =>
 *   users.run(user, () => console.log(`user ${user}: order ${id}`));
 * await Promise.all([order(1, 101), order(1, 102), order(2, 201)]); // 101 before 102, 201 waits for neither
 * console.log(users.size); // 0
 * ```
 */
export class KeyedMutex<K = unknown> {
  // The key of every entry is held
  readonly #entries = new Map<K, Entry<K>>();
  readonly #name: string | undefined;

  static {
    show(KeyedMutex, ["name", "size"]);
  }

  /**
   * A mutex without entries.
   *
   * @param options Its name.
   * @throws {TypeError} when the name is not a string.
   */
  constructor(options?: NameOptions) {
    this.#name = readName(options);
  }

  /** Its name, which error messages and diagnostics show with the key. */
  get name(): string | undefined {
    return this.#name;
  }

  /** The number of keys that are held. */
  get size(): number {
    return this.#entries.size;
  }

  /** Whether `key` is held. */
  locked(key: K): boolean {
    return this.#entries.has(key);
  }

  /** The length of the queue for `key`. */
  waiting(key: K): number {
    return this.#entries.get(key)?.queue.size ?? 0;
  }

  /**
   * Waits for `key` and resolves to the guard that holds it.
   *
   * **Fairness**: strictly first come, first served within each key.
   *
   * **Cancellation**: on abort or time-out the waiter leaves the queue in O(1), and nothing of it is left. An abort after
   * the grant changes nothing.
   *
   * @param key The key to hold.
   * @param options When to stop waiting; `timeout` in milliseconds.
   * @throws {TimeoutError} when the time is over.
   * @throws {TypeError} for options of a wrong type.
   * @throws {RangeError} for a `timeout` that is NaN or negative.
   */
  acquire(key: K, options?: WaitOptions): Promise<Guard> {
    if (options === undefined) return this.#entry(key).acquire();
    return promised(() => {
      const limits = admit(options); // before there is an entry, which would never be removed
      return this.#entry(key).acquire(limits);
    });
  }

  /** The guard if `key` is free, else undefined. */
  tryAcquire(key: K): Guard | undefined {
    return this.#entries.has(key) ? undefined : this.#add(key).tryAcquire();
  }

  /**
   * Calls `fn` while holding `key`, and releases it when `fn` has ended, either way.
   *
   * **Fairness** and **Cancellation** as in {@linkcode KeyedMutex.acquire}; once `fn` runs, the options have no effect.
   *
   * @throws {TypeError} when `fn` is not a function; also rejects as {@linkcode KeyedMutex.acquire} and `fn` do.
   */
  run<T>(key: K, fn: (guard: Guard) => T | PromiseLike<T>, options?: WaitOptions): Promise<T> {
    return runHolding(this.at(key), fn, options);
  }

  /**
   * One key as a lock, for code that takes any {@linkcode Acquirable} and for {@linkcode acquireAll}. It holds no entry:
   * it may be kept or made anew for each use.
   *
   * @param key The key.
   */
  at(key: K): KeyedLock {
    return new Key(this, key);
  }

  #entry(key: K): Entry<K> {
    return this.#entries.get(key) ?? this.#add(key);
  }

  #add(key: K): Entry<K> {
    const entry = new Entry(this.#entries, key, this.#name);
    this.#entries.set(key, entry);
    return entry;
  }
}

class Key<K> implements KeyedLock {
  readonly #mutex: KeyedMutex<K>;
  readonly #key: K;

  static readonly name = "KeyedLock";

  static {
    setPlace(Key, (one) => ({ owner: one.#mutex, key: one.#key }));
    show(Key, ["name", "key", "locked", "waiting"]);
  }

  constructor(mutex: KeyedMutex<K>, key: K) {
    this.#mutex = mutex;
    this.#key = key;
  }

  get name(): string | undefined {
    return this.#mutex.name;
  }

  get key(): K {
    return this.#key;
  }

  get locked(): boolean {
    return this.#mutex.locked(this.#key);
  }

  get waiting(): number {
    return this.#mutex.waiting(this.#key);
  }

  acquire(options?: WaitOptions): Promise<Guard> {
    return this.#mutex.acquire(this.#key, options);
  }

  tryAcquire(): Guard | undefined {
    return this.#mutex.tryAcquire(this.#key);
  }

  run<T>(fn: (guard: Guard) => T | PromiseLike<T>, options?: WaitOptions): Promise<T> {
    return runHolding(this, fn, options);
  }
}

/** A mutex that removes itself from the map when its key is free. */
class Entry<K> extends Mutex {
  readonly #entries: Map<K, Entry<K>>;
  readonly #key: K;

  constructor(entries: Map<K, Entry<K>>, key: K, name: string | undefined) {
    super(name);
    this.#entries = entries;
    this.#key = key;
  }

  override get kind(): string {
    return "key";
  }

  get key(): K {
    return this.#key;
  }

  override get operation(): string {
    return `${named("acquire lock", this.name)} for key ${quote(this.#key)}`;
  }

  protected override onIdle(): void {
    this.#entries.delete(this.#key);
  }
}
