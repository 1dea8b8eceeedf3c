/**
 * A rate limiter for each key that has started something lately.
 *
 * @module
 */
import { checkInteger, forKey, promised, readMaxWaiting, readName } from "./internal/check.ts";
import { show } from "./internal/show.ts";
import { Timer } from "./internal/timer.ts";
import type { WaitedFor } from "./internal/waiter.ts";
import { describeAs, idleIn, RateLimiter, type RateLimiterOptions, windowEnd } from "./rate_limiter.ts";
import type { MaxWaitingOptions } from "./types.ts";

/** Up to this number, idle keys are not worth a timer: the next call removes them. */
const FEW = 64;

/** The private state, for {@linkcode assertSoundKeyedRateLimiter}, which bundlers drop because it is no method. */
let stateOf: (
  keyedRateLimiter: KeyedRateLimiter<unknown>,
) => readonly [limiters: ReadonlyMap<unknown, Entry>, waiting: number, timer: Timer];

/**
 * Limits how often something starts for each key: never more than `limit` starts for a key in any window of `interval`
 * milliseconds. A {@linkcode RateLimiter} for each user, host or token, instead of one for all.
 *
 * Keys are compared as in a `Map`. An entry lives while a start of its key lies within the window or a call waits, so
 * memory does not grow with the number of keys ever used. Not for limiting how many run at a time: that is
 * {@linkcode KeyedSemaphore}.
 *
 * Not meant to be extended: wrap it in a class of your own.
 *
 * @typeParam K The keys.
 * @example
 * ```ts
 * import { KeyedRateLimiter } from "@interlock/interlock";
 *
 * const users = new KeyedRateLimiter<string>(2, 60_000); // at most 2 requests of a user in any minute
 * console.log(users.tryAcquire("ada"), users.tryAcquire("ada"), users.tryAcquire("ada")); // true true false
 * console.log(users.tryAcquire("alan"), users.retryAfter("ada") > 59_000); // true true
 * ```
 */
export class KeyedRateLimiter<K = unknown> {
  // Each has a start within the window or a waiter, apart from those whose window is over since the last call of #sweep.
  // From the earliest to the latest by their last starts. #waiting is the number of waiters of all keys,
  // apart from the moment in which a limiter serves its queue.
  readonly #limiters = new Map<K, Entry>();
  readonly #limit: number;
  readonly #interval: number;
  readonly #name: string | undefined;
  readonly #maxWaiting: number;
  #waiting = 0;
  /** For the end of the first window of many keys, while no call waits: where one does, there is a timer anyway. */
  readonly #timer = new Timer(() => this.#sweep());

  static {
    stateOf = (one) => [one.#limiters, one.#waiting, one.#timer];
    show(KeyedRateLimiter, "KeyedRateLimiter", ["name", "limit", "interval", "size"]);
  }

  /**
   * At most `limit` starts for each key in any window of `interval` milliseconds.
   *
   * @param limit Starts of a key in any window, 1 or more.
   * @param interval Length of the window in milliseconds, more than 0.
   * @param options Its name, and how many calls may wait for each key.
   * @throws {TypeError} when `limit`, `interval` or `maxWaiting` is not a number, or the name is not a string.
   * @throws {RangeError} when `limit` is not a whole number of 1 or more, `interval` is not finite and above 0, or
   *   `maxWaiting` is neither a whole number of 0 or more nor `Infinity`.
   */
  constructor(limit: number, interval: number, options?: MaxWaitingOptions) {
    new RateLimiter(limit, interval); // checks them
    this.#limit = limit;
    this.#interval = interval;
    this.#name = readName(options);
    this.#maxWaiting = readMaxWaiting(options);
  }

  /** Its name, which error messages and diagnostics show with the key. */
  get name(): string | undefined {
    return this.#name;
  }

  /** The most starts of a key in any window. */
  get limit(): number {
    return this.#limit;
  }

  /** The length of the window in milliseconds. */
  get interval(): number {
    return this.#interval;
  }

  /** The number of keys with a start within the window, or a call that waits. */
  get size(): number {
    this.#sweep();
    return this.#limiters.size;
  }

  /** The length of the queue for `key`. */
  waiting(key: K): number {
    return this.#limiters.get(key)?.limiter.waiting ?? 0;
  }

  /**
   * Waits until the call may start.
   *
   * **Fairness**: strictly first come, first served within each key. Large requests are never overtaken by small ones.
   *
   * **Cancellation**: on abort or time-out the waiter leaves the queue in O(1) and uses no start up; those behind it move
   * up. An abort after the grant changes nothing: the start is used.
   *
   * @param key The key of the start.
   * @param options How many starts, and when to stop waiting; `timeout` in milliseconds.
   * @throws {QueueFullError} (as a rejection, like all of these) when `maxWaiting` calls are waiting for the key already.
   * @throws {TimeoutError} when the time is over.
   * @throws {TypeError} for options of a wrong type.
   * @throws {RangeError} for `permits` that are not a whole number from 1 to the limit, and for a `timeout` that is NaN
   *   or negative.
   */
  acquire(key: K, options?: RateLimiterOptions): Promise<void> {
    return promised(() => this.#use(key, (limiter) => limiter.acquire(options)));
  }

  /**
   * Starts now if that is allowed and the key's queue is empty.
   *
   * @param key The key of the start.
   * @param permits How many starts, all or none. Default: 1.
   * @returns Whether it started.
   * @throws {TypeError} when `permits` is not a number.
   * @throws {RangeError} when it is not a whole number from 1 to the limit.
   */
  tryAcquire(key: K, permits: number = 1): boolean {
    return this.#use(key, (limiter) => limiter.tryAcquire(permits));
  }

  /**
   * Waits until the call may start, and calls `fn`.
   *
   * **Fairness** and **Cancellation** as in {@linkcode KeyedRateLimiter.acquire}; once `fn` runs, the options have no effect.
   *
   * @throws {TypeError} when `fn` is not a function; also rejects as {@linkcode KeyedRateLimiter.acquire} and `fn` do.
   */
  run<T>(key: K, fn: () => T | PromiseLike<T>, options?: RateLimiterOptions): Promise<T> {
    return promised(() => this.#use(key, (limiter) => limiter.run(fn, options)));
  }

  /**
   * How long a call made now would wait if it were alone behind those that wait for `key`: in ms, rounded up, 0 if it could
   * start now.
   *
   * @param key The key of the start.
   * @param permits How many starts. Default: 1.
   * @throws {TypeError} when `permits` is not a number.
   * @throws {RangeError} when it is not a whole number from 1 to the limit.
   */
  retryAfter(key: K, permits: number = 1): number {
    checkInteger(permits, "permits", 1, this.#limit);
    return this.#limiters.get(key)?.limiter.retryAfter(permits) ?? 0;
  }

  /** Calls `fn` with the limiter of the key, which is kept if something has started or waits. */
  #use<T>(key: K, fn: (limiter: RateLimiter) => T): T {
    let entry = this.#limiters.get(key);
    if (entry === undefined) {
      const limiter = new RateLimiter(this.#limit, this.#interval, { maxWaiting: this.#maxWaiting });
      const added = entry = { limiter, users: 0, waiting: 0, end: -Infinity };
      describeAs(limiter, new Self(this.#name, key), () => this.#update(key, added));
      this.#limiters.set(key, entry); // at once: reading the options may run code that uses the same key
    }
    entry.users++;
    try {
      return fn(entry.limiter);
    } finally {
      entry.users--;
      this.#update(key, entry);
    }
  }

  /** Something may have started, or have begun or ceased to wait. */
  #update(key: K, entry: Entry): void {
    const { waiting } = entry.limiter;
    this.#waiting += waiting - entry.waiting;
    entry.waiting = waiting;
    const end = windowEnd(entry.limiter);
    if (end !== entry.end) {
      this.#limiters.delete(key);
      this.#limiters.set(key, entry); // the latest now
    }
    entry.end = end;
    this.#sweep();
    if (isIdle(entry)) this.#limiters.delete(key); // the call was refused
  }

  /** Removes what is idle, and sets the timer for the next that will be. */
  #sweep(): void {
    let next: Entry | undefined;
    for (const [key, entry] of this.#limiters) {
      next = entry;
      if (!isIdle(entry)) break;
      this.#limiters.delete(key);
      next = undefined;
    }
    if (next === undefined || this.#limiters.size <= FEW || this.#waiting > 0) this.#timer.clear();
    else if (this.#timer.at === Infinity) this.#timer.set(performance.now() + idleIn(next.limiter));
  }
}

/** Throws unless the invariants hold; for tests. */
export function assertSoundKeyedRateLimiter(keyedRateLimiter: KeyedRateLimiter<unknown>): void {
  const [limiters, counted, timer] = stateOf(keyedRateLimiter);
  let waiting = 0;
  for (const { limiter } of limiters.values()) waiting += limiter.waiting;
  const isTimed = limiters.size <= FEW || waiting > 0 || timer.at < Infinity;
  if (waiting !== counted || !isTimed) throw new Error(`unsound keys: ${waiting} wait, not ${counted}`);
}

/** One key. */
interface Entry {
  readonly limiter: RateLimiter;
  /** How many calls use it in this moment: reading the options of one may make another. */
  users: number;
  /** How many of its waiters are counted: those that have left still are until `#update`, which needs the entry. */
  waiting: number;
  /** The end of its window when it was last looked at. */
  end: number;
}

function isIdle({ limiter, users, waiting }: Entry): boolean {
  return users + waiting === 0 && idleIn(limiter) <= 0;
}

/** One key, as messages and events show it. */
class Self implements WaitedFor {
  readonly kind = "key";
  readonly noun = "rate limiter";
  readonly isHeld = false;
  readonly name: string | undefined;
  readonly key: unknown;

  constructor(name: string | undefined, key: unknown) {
    this.name = name;
    this.key = key;
  }

  get operation(): string {
    return forKey("acquire rate limiter", this.name, this.key);
  }
}
