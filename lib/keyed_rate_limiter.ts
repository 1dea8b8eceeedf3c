/**
 * A rate limiter for each recently used key. Invariant: no call starts that would exceed the limit of a window of its
 * key; an idle key is removed by its next call or a timer.
 *
 * @module
 */
import { Budget, readBudgets } from "./internal/budgets.ts";
import { checkKey, promiseTry, readQueueOptions } from "./internal/check.ts";
import { step } from "./internal/hook.ts";
import { printAs } from "./internal/show.ts";
import { exposeState } from "./internal/state.ts";
import { type Budgets, budgetsOf, closeStarts, isIdle, StartQueue } from "./internal/start_queue.ts";
import { Timer } from "./internal/timer.ts";
import type { WaitedFor } from "./internal/waited_for.ts";
import type { RateBudget, RateLimiterOptions, RateOptions } from "./rate_limiter.ts";

/** Up to this number of entries no timer is set for idle keys. */
const FEW = 64;

/** One budget of a {@linkcode KeyedRateLimiter}: the same numbers for each key. */
export interface KeyedRateLimiterBudget<K> {
  /** How its starts are counted. */
  readonly kind: "window" | "bucket";
  /** Maximum number of starts of a key in any window, or of permits in its bucket. Starts already made count. */
  limit: number;
  /** The length of the window, or the time in which an empty bucket fills, in milliseconds. Starts already made count. */
  interval: number;
  /**
   * Starts that a new call of `key` could make now.
   *
   * @param key The key.
   */
  remaining(key: K): number;
}

/**
 * Limits how often something starts for each key: never more than `limit` starts for a key in any window of `interval`
 * milliseconds. One {@linkcode RateLimiter} for each user, host or token.
 *
 * Keys are compared as in a `Map`. An entry lives only while a start of its key is within the window, a call waits, the
 * key is blocked, or its bucket is not full. So memory does not grow with the number of keys ever used. To limit
 * concurrency, use {@linkcode KeyedSemaphore}.
 *
 * Not meant to be extended: wrap it in a class of your own.
 *
 * @typeParam K The keys.
 * @example
 * ```ts
 * import { KeyedRateLimiter } from "@interlock/interlock";
 *
 * // At most 2 requests of a user in any minute:
 * const users = new KeyedRateLimiter<string>(2, 60_000);
 * console.log(users.tryAcquire("ada"), users.tryAcquire("ada")); // true true
 * console.log(users.tryAcquire("ada"), users.tryAcquire("alan")); // false true
 * console.log(users.retryAfter("ada") > 59_000); // true
 * ```
 */
export class KeyedRateLimiter<K = string | number | bigint | symbol> {
  // Every key that is not idle has an entry. More than FEW entries imply that #timer is set, which removes idle keys
  // one to two intervals after their first starts.
  readonly #entries = new Map<K, StartQueue>();
  readonly #shared: Budgets;
  /** The queue of a key that was never used, which a change of the limits changes, too. */
  readonly #unused: StartQueue;
  readonly #budgets: readonly KeyedRateLimiterBudget<K>[];
  readonly #timer = new Timer(() => this.#sweep());

  static {
    exposeState(KeyedRateLimiter, (limiter) => [limiter.#entries, limiter.#timer]);
    printAs(KeyedRateLimiter, "KeyedRateLimiter", ["name", "limit", "interval", "size", "closed"]);
  }

  /**
   * Creates a limiter of at most `limit` starts for each key in any window of `interval` milliseconds.
   *
   * @param limit Starts of a key in any window, 1 or more.
   * @param interval Length of the window in milliseconds, more than 0.
   * @param options A name, the kind of limit, and how many calls may wait for each key.
   * @throws {TypeError} when `limit`, `interval` or `maxWaiting` is not a number, or the name is not a string.
   * @throws {RangeError} when `limit` is not a whole number of 1 or more, `interval` is not finite and above 0, or
   *   `maxWaiting` is neither a whole number of 0 or more nor `Infinity`.
   */
  constructor(limit: number, interval: number, options?: RateOptions);
  /**
   * Creates a limiter with several budgets for each key, each with a limit and an interval of its own.
   *
   * @param budgets One or more budgets, each with `limit` and `interval` in milliseconds.
   * @param options A name, the kind of budgets that name none, and how many calls may wait for each key.
   * @throws {TypeError | RangeError} when a budget or option is not allowed, or the list is empty.
   */
  constructor(budgets: readonly RateBudget[], options?: RateOptions);
  constructor(...args: unknown[]) {
    const [quotas, { name, maxWaiting }] = readBudgets(args, readQueueOptions);
    this.#shared = budgetsOf(quotas, maxWaiting);
    this.#unused = new StartQueue(this.#shared, targetOf(name));
    const apply = (change: () => void) => this.#apply(change);
    const remainingOf = (i: number) => (key: K) => this.#use(key, (queue) => queue.remaining(i));
    this.#budgets = quotas.map((each, i) => new KeyedBudget<K>(each, apply, () => remainingOf(i)));
  }

  /** The name shown with the key in error messages and diagnostics. */
  get name(): string | undefined {
    return this.#unused.target.name;
  }

  /**
   * Maximum number of starts of a key in any window. Starts already made count against a new value. A bucket loses the
   * permits above a lower limit; a higher limit adds none. 0 pauses the limiter.
   *
   * @throws {TypeError} when the new value is not a number.
   * @throws {RangeError} when the new value is not a whole number of 0 or more.
   */
  get limit(): number {
    return this.#budgets[0]!.limit;
  }

  set limit(limit: number) {
    this.#budgets[0]!.limit = limit;
  }

  /**
   * The length of the window in milliseconds. Starts already made count against a new value.
   *
   * @throws {TypeError} when the new value is not a number.
   * @throws {RangeError} when the new value is not finite and above 0.
   */
  get interval(): number {
    return this.#budgets[0]!.interval;
  }

  set interval(interval: number) {
    this.#budgets[0]!.interval = interval;
  }

  /** The budgets in constructor order. The limiter's own `limit` and `interval` belong to the first budget. */
  get budgets(): readonly KeyedRateLimiterBudget<K>[] {
    return this.#budgets;
  }

  /** The number of keys with a start within the window, a waiter or a block. O(n) in the number of keys. */
  get size(): number {
    this.#sweep();
    return this.#entries.size;
  }

  /** Whether `cancel()` has closed the limiter. */
  get closed(): boolean {
    return this.#unused.waiters.closed;
  }

  /**
   * The length of the queue for `key`.
   *
   * @param key The key.
   */
  waiting(key: K): number {
    checkKey(key);
    return this.#entries.get(key)?.waiters.size ?? 0;
  }

  /**
   * Starts that a new call of `key` could make now: 0 while calls wait, while the key is blocked, and after `cancel`.
   */
  remaining(key: K): number {
    return this.#budgets[0]!.remaining(key);
  }

  /**
   * Waits until the call may start.
   *
   * **Fairness**: strictly first come, first served within each key. Large requests are never overtaken by small ones.
   *
   * **Cancellation**: on abort or time-out the waiter leaves the queue in O(1) and uses no start; later waiters move
   * up. An abort after the grant has no effect: the start is used.
   *
   * @param key The key of the start.
   * @param options How many starts, and when to stop waiting; `timeout` in milliseconds.
   * @throws {QueueFullError} when `maxWaiting` calls are waiting for the key already.
   * @throws {TimeoutError} when the timeout has passed.
   * @throws {signal.reason} when the signal aborts.
   * @throws {ClosedError} when `cancel()` has closed the limiter before the call. A call that already waits rejects
   *   with the reason of `cancel()`.
   * @throws {TypeError} when an option has a wrong type.
   * @throws {RangeError} when `permits` is not a whole number from 1 to the limit, or `timeout` is NaN or negative.
   */
  acquire(key: K, options?: RateLimiterOptions): Promise<void> {
    return promiseTry(() => this.#use(key, (queue) => queue.acquire(options)) ?? Promise.resolve());
  }

  /**
   * Starts now if the limit allows it and the key's queue is empty.
   *
   * @param key The key of the start.
   * @param permits How many starts, all or none: a number, or a list with a number for each budget. Default: 1.
   * @returns Whether it started.
   * @throws {TypeError} when `permits` is neither a number nor a list of numbers.
   * @throws {RangeError} when `permits` is not a whole number from 1 to the limit.
   * @throws {ClosedError} when `cancel()` has closed the limiter.
   */
  tryAcquire(key: K, permits: number | readonly number[] = 1): boolean {
    return this.#use(key, (queue) => queue.tryAcquire(permits));
  }

  /**
   * Waits until the call may start, and calls `fn`.
   *
   * **Fairness** and **Cancellation** as in {@linkcode KeyedRateLimiter.acquire}.
   *
   * @param key The key.
   * @param fn Called without arguments when the call may start.
   * @param options As for {@linkcode KeyedRateLimiter.acquire}; they bound the wait, not `fn`.
   * @throws {TypeError} when `fn` is not a function.
   * @throws The errors of {@linkcode KeyedRateLimiter.acquire} and of `fn`.
   */
  run<T>(key: K, fn: () => T | PromiseLike<T>, options?: RateLimiterOptions): Promise<T> {
    return promiseTry(() => this.#use(key, (queue) => queue.run(fn, options)));
  }

  /**
   * Milliseconds until a call of `key` made now could start, behind the key's present waiters; 0 if it could start now.
   * Rounded up to whole milliseconds.
   *
   * @param key The key of the start.
   * @param permits How many starts: a number, or a list with one for each budget. Default: 1.
   * @throws {TypeError} when `permits` is neither a number nor a list of numbers.
   * @throws {RangeError} when `permits` is not a whole number from 1 to the limit.
   */
  retryAfter(key: K, permits: number | readonly number[] = 1): number {
    return this.#use(key, (queue) => queue.retryAfter(permits));
  }

  /**
   * Blocks starts of `key` for `ms` milliseconds from now, for example after a 429 response with Retry-After. Waiters
   * keep their places. A call may prolong the current block but never shortens it.
   *
   * @param key The key to block.
   * @param ms Milliseconds, a finite number of 0 or more.
   * @throws {TypeError} when `ms` is not a number.
   * @throws {RangeError} when `ms` is not finite, or negative.
   */
  block(key: K, ms: number): void {
    this.#use(key, (queue) => queue.block(ms));
  }

  /**
   * Gives back the latest starts of `key`: not more than are within the window, or than its bucket lacks.
   *
   * @param key The key of the starts.
   * @param permits How many starts: a number, or a list with one for each budget. Default: 1.
   * @throws {TypeError} when `permits` is neither a number nor a list of numbers.
   * @throws {RangeError} when `permits` is not a whole number of 0 or more.
   */
  reward(key: K, permits: number | readonly number[] = 1): void {
    this.#use(key, (queue) => queue.reward(permits));
  }

  /**
   * Counts further starts of `key` now, even beyond the limit.
   *
   * @param key The key of the starts.
   * @param permits How many starts: a number, or a list with one for each budget. Default: 1.
   * @throws {TypeError} when `permits` is neither a number nor a list of numbers.
   * @throws {RangeError} when `permits` is not a whole number of 0 or more.
   */
  penalty(key: K, permits: number | readonly number[] = 1): void {
    this.#use(key, (queue) => queue.penalize(permits));
  }

  /**
   * Closes the limiter for good, for all keys: all waiters reject with `reason`, in order for each key and in one step;
   * later calls reject with a {@linkcode ClosedError}. Cancelling again has no effect.
   *
   * @param reason Default: an AbortError.
   */
  cancel(reason?: unknown): void {
    closeStarts([this.#unused, ...this.#entries.values()], reason);
  }

  /** Calls `fn` with the start queue of the key, and removes the key if it is idle afterwards. */
  #use<T>(key: K, fn: (queue: StartQueue) => T): T {
    checkKey(key);
    let queue = this.#entries.get(key);
    if (queue === undefined) {
      this.#unused.advance();
      queue = new StartQueue(this.#shared, targetOf(this.name, key), this.#unused.logs);
      queue.waiters.closedWith = this.#unused.waiters.closedWith; // closed, if the limiter is
      this.#entries.set(key, queue);
    }
    try {
      return fn(queue);
    } finally {
      if (this.#isIdle(queue)) this.#entries.delete(key); // the call was refused, or only read a value
      this.#setTimer();
    }
  }

  /** Whether an entry that is made anew would be the same. */
  #isIdle(queue: StartQueue): boolean {
    return isIdle(queue) && isIdle(this.#unused);
  }

  #sweep(): void {
    for (const [key, queue] of this.#entries) if (this.#isIdle(queue)) this.#entries.delete(key);
    this.#setTimer();
  }

  #setTimer(): void {
    if (this.#entries.size <= FEW) this.#timer.clear();
    else if (this.#timer.at === Infinity) {
      this.#timer.set(performance.now() + Math.max(...this.#shared.quotas.map(({ interval }) => interval)));
    }
  }

  /** Changes the numbers, and serves all keys. */
  #apply(change: () => void): void {
    const queues = [...this.#entries.values()];
    for (const queue of [this.#unused, ...queues]) queue.beforeChange();
    change();
    step(() => {
      for (const queue of queues) queue.serve();
    });
    this.#timer.clear();
    this.#sweep();
  }
}

function targetOf(name: string | undefined, key?: unknown): WaitedFor {
  return { kind: "key", noun: "rate limiter", isHeld: false, name, key };
}

class KeyedBudget<K> extends Budget<(key: K) => number> {}
printAs(KeyedBudget, "KeyedRateLimiterBudget", ["limit", "interval"]);
