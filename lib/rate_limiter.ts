/**
 * Rate limits in one process: the public class over a start queue. Invariant: no call starts that would exceed the
 * limit of a window.
 *
 * @module
 */
import { Budget, readBudgets } from "./internal/budgets.ts";
import { promiseTry, readQueueOptions } from "./internal/check.ts";
import { printAs } from "./internal/show.ts";
import { COPY, exposeState } from "./internal/state.ts";
import { budgetsOf, closeStarts, StartQueue } from "./internal/start_queue.ts";
import { describe } from "./internal/waited_for.ts";
import { wrapFunction } from "./internal/wrap.ts";
import type { MaxWaitingOptions, WaitOptions } from "./types.ts";

/** Options of one call: of `acquire` and `run`. The options of a constructor are {@linkcode RateOptions}. */
export interface RateLimiterOptions extends WaitOptions {
  /**
   * How many starts the call takes at once: a number, or a list with a number for each budget, such as `[1, 1200]` for
   * one request of 1,200 tokens. A 0 in a list takes nothing from that budget; at least one number must be greater.
   * Default: 1.
   */
  readonly permits?: number | readonly number[] | undefined;
}

/** One budget of a limiter. */
export interface RateBudget {
  /** Starts in any window, or permits of a full bucket; 1 or more. */
  readonly limit: number;
  /** Length of the window, or the time in which an empty bucket fills up; milliseconds, more than 0. */
  readonly interval: number;
  /**
   * How starts are counted. "window": never more than `limit` starts in any window of `interval` milliseconds.
   * "bucket": a token bucket, which holds `limit` permits, is full at first, and gets one back every `interval / limit`
   * milliseconds: bursts of up to `limit`, then even starts. Default: "window", or the `kind` of the limiter's options.
   */
  readonly kind?: "window" | "bucket" | undefined;
}

/**
 * Options of a limiter: of the constructors of {@linkcode RateLimiter} and {@linkcode KeyedRateLimiter}. The options of
 * one call are {@linkcode RateLimiterOptions}.
 */
export interface RateOptions extends MaxWaitingOptions {
  /** The kind of budgets that name none; see {@linkcode RateBudget.kind}. Default: "window". */
  readonly kind?: "window" | "bucket" | undefined;
}

/** One budget of a {@linkcode RateLimiter}. */
export interface RateLimiterBudget {
  /** How its starts are counted. */
  readonly kind: "window" | "bucket";
  /** Maximum number of starts in any window, or of permits in a bucket. Starts already made count against a new value. */
  limit: number;
  /** The length of the window, or the time in which an empty bucket fills, in milliseconds. Starts already made count. */
  interval: number;
  /** Starts that a new call could make now; 0 while calls wait or the limiter is blocked. */
  readonly remaining: number;
}

/**
 * Limits how often something starts: never more than `limit` starts in any window of `interval` milliseconds. The
 * window slides, so it never starts twice the limit around a boundary. With `kind: "bucket"` it is a token bucket:
 * never more than `limit + t * limit / interval` starts within any `t` milliseconds.
 *
 * With several budgets, a call starts when all of them allow it, and takes from all in one step: 20 a second and 1,000
 * an hour, or requests and tokens a minute. Two limiters in a row cannot keep both limits: the first counts a start
 * before the wait for the second.
 *
 * To limit concurrency, use {@linkcode Semaphore} or {@linkcode Pool}. For a limit that several processes share, use
 * `RedisRateLimiter`. There is nothing to release.
 *
 * A start is the moment at which a granted call resumes, in the same turn of the event loop, on the monotonic clock. A
 * window includes its beginning but not its end: with a limit of 1, starts are at least `interval` apart.
 *
 * Not meant to be extended: wrap it in a class of your own.
 *
 * @example
 * ```ts
 * import { RateLimiter } from "@interlock/interlock";
 *
 * const api = new RateLimiter(100, 60_000); // at most 100 in any minute
 * await api.acquire({ timeout: 5000 });
 * console.log(api.tryAcquire(99), api.tryAcquire()); // true false
 * ```
 *
 * @example Requests and tokens a minute
 * ```ts
 * import { RateLimiter } from "@interlock/interlock";
 *
 * const model = new RateLimiter([
 *   { limit: 50, interval: 60_000 }, // requests
 *   { limit: 30_000, interval: 60_000 }, // tokens
 * ]);
 * await model.acquire({ permits: [1, 1200] }); // an estimate
 * model.reward([0, 300]); // it needed 900
 * const left = model.budgets.map(({ remaining }) => remaining);
 * console.log(left); // [ 49, 29100 ]
 * ```
 */
export class RateLimiter {
  readonly #queue: StartQueue;
  readonly #budgets: readonly RateLimiterBudget[];

  static {
    exposeState(RateLimiter, (limiter) => ({ queue: limiter.#queue, copy: COPY }));
    printAs(RateLimiter, "RateLimiter", ["name", "limit", "interval", "waiting", "closed"]);
  }

  /**
   * Creates a limiter of at most `limit` starts in any window of `interval` milliseconds.
   *
   * @param limit Starts in any window, 1 or more.
   * @param interval Length of the window in milliseconds, more than 0.
   * @param options A name, the kind of limit, and how many calls may wait.
   * @throws {TypeError} when `limit`, `interval` or `maxWaiting` is not a number, or the name is not a string.
   * @throws {RangeError} when `limit` is not a whole number of 1 or more, `interval` is not finite and above 0, or
   *   `maxWaiting` is neither a whole number of 0 or more nor `Infinity`.
   */
  constructor(limit: number, interval: number, options?: RateOptions);
  /**
   * Creates a limiter with several budgets, each with a limit and an interval of its own.
   *
   * @param budgets One or more budgets, each with `limit` and `interval` in milliseconds.
   * @param options A name, the kind of budgets that name none, and how many calls may wait.
   * @throws {TypeError | RangeError} when a budget or option is not allowed, or the list is empty.
   */
  constructor(budgets: readonly RateBudget[], options?: RateOptions);
  constructor(...args: unknown[]) {
    const [quotas, { name, maxWaiting }] = readBudgets(args, readQueueOptions);
    const target = describe("rate-limiter", "acquire rate limiter", name);
    const queue = this.#queue = new StartQueue(budgetsOf(quotas, maxWaiting), target);
    const apply = (change: () => void) => {
      queue.beforeChange();
      change();
      queue.serve();
    };
    this.#budgets = quotas.map((each, i) => new LimiterBudget(each, apply, () => queue.remaining(i)));
  }

  /** The name shown in error messages and diagnostics. */
  get name(): string | undefined {
    return this.#queue.target.name;
  }

  /**
   * Maximum number of starts in any window. Starts already made count against a new value; a waiter that wants more
   * keeps waiting. A bucket loses the permits above a lower limit; a higher limit adds none. 0 pauses the limiter.
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
   * The length of the window in milliseconds. Starts already made count against a new value, except starts that were
   * dropped before the interval grew.
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

  /**
   * The budgets in constructor order. The limiter's own `limit`, `interval` and `remaining` belong to the first budget.
   */
  get budgets(): readonly RateLimiterBudget[] {
    return this.#budgets;
  }

  /** Starts that a new call could make now: 0 while calls wait, while the limiter is blocked, and after `cancel`. */
  get remaining(): number {
    return this.#budgets[0]!.remaining;
  }

  /** The length of the queue. */
  get waiting(): number {
    return this.#queue.waiters.size;
  }

  /** Whether `cancel()` has closed the limiter. */
  get closed(): boolean {
    return this.#queue.waiters.closed;
  }

  /**
   * Waits until the call may start.
   *
   * **Fairness**: strictly first come, first served. Large requests are never overtaken by small ones.
   *
   * **Cancellation**: on abort or time-out the waiter leaves the queue in O(1) and uses no start; later waiters move
   * up. An abort after the grant has no effect: the start is used.
   *
   * @param options How many starts, and when to stop waiting; `timeout` in milliseconds.
   * @throws {TimeoutError} when the timeout has passed.
   * @throws {signal.reason} when the signal aborts.
   * @throws {QueueFullError} when `maxWaiting` calls are waiting already.
   * @throws {ClosedError} when `cancel()` has closed the limiter before the call. A call that already waits rejects
   *   with the reason of `cancel()`.
   * @throws {TypeError} when an option has a wrong type.
   * @throws {RangeError} when `permits` is not a whole number from 1 to the limit, or `timeout` is NaN or negative.
   */
  acquire(options?: RateLimiterOptions): Promise<void> {
    return promiseTry(() => this.#queue.acquire(options) ?? Promise.resolve());
  }

  /**
   * Starts now if the limit allows it and the queue is empty.
   *
   * @param permits How many starts, all or none: a number, or a list with a number for each budget. Default: 1.
   * @returns Whether it started.
   * @throws {TypeError} when `permits` is neither a number nor a list of numbers.
   * @throws {RangeError} when `permits` is not a whole number from 1 to the limit.
   * @throws {ClosedError} when `cancel()` has closed the limiter.
   */
  tryAcquire(permits: number | readonly number[] = 1): boolean {
    return this.#queue.tryAcquire(permits);
  }

  /**
   * Waits until the call may start, and calls `fn`.
   *
   * **Fairness** and **Cancellation** as in {@linkcode RateLimiter.acquire}.
   *
   * @param fn Called without arguments when the call may start.
   * @param options As for {@linkcode RateLimiter.acquire}; they bound the wait, not `fn`.
   * @throws {TypeError} when `fn` is not a function.
   * @throws The errors of {@linkcode RateLimiter.acquire} and of `fn`.
   */
  run<T>(fn: () => T | PromiseLike<T>, options?: RateLimiterOptions): Promise<T> {
    return this.#queue.run(fn, options);
  }

  /**
   * Wraps `fn`, keeping its parameters, `this` and result: each call goes through {@linkcode RateLimiter.run}. `fn`
   * gets only the arguments of the call.
   *
   * @param fn The function to wrap.
   * @throws {TypeError} when `fn` is not a function, or is a generator function.
   */
  wrap<T, A extends unknown[], R>(fn: (this: T, ...args: A) => R): (this: T, ...args: A) => Promise<Awaited<R>> {
    return wrapFunction(fn, (call) => this.run(call));
  }

  /**
   * Milliseconds until a call made now could start, behind the present waiters; 0 if it could start now. Rounded up to
   * whole milliseconds; `Infinity` while the limit is 0, or behind a waiter that asks for more than a lowered limit.
   * Divide by 1,000 and round up for a Retry-After header.
   *
   * @param permits How many starts. Default: 1.
   * @throws {TypeError} when `permits` is neither a number nor a list of numbers.
   * @throws {RangeError} when `permits` is not a whole number from 1 to the limit.
   */
  retryAfter(permits: number | readonly number[] = 1): number {
    return this.#queue.retryAfter(permits);
  }

  /**
   * Blocks all starts for `ms` milliseconds from now, for example after a 429 response with Retry-After. Waiters keep
   * their places. A call may prolong the current block but never shortens it.
   *
   * @param ms Milliseconds, a finite number of 0 or more.
   * @throws {TypeError} when `ms` is not a number.
   * @throws {RangeError} when `ms` is not finite, or negative.
   *
   * @example
   * ```ts
   * import { RateLimiter } from "@interlock/interlock";
   *
   * const api = new RateLimiter(10, 1000);
   * api.block(30_000); // the response was a 429 with "Retry-After: 30"
   * console.log(api.tryAcquire(), api.remaining); // false 0
   * console.log(Math.ceil(api.retryAfter() / 1000)); // 30
   * ```
   */
  block(ms: number): void {
    this.#queue.block(ms);
  }

  /**
   * Gives back the latest starts, for example after a call that used fewer tokens than it took: not more than are
   * within the window, or than the bucket lacks.
   *
   * @param permits How many starts: a number, or a list with one for each budget. Default: 1.
   * @throws {TypeError} when `permits` is neither a number nor a list of numbers.
   * @throws {RangeError} when `permits` is not a whole number of 0 or more.
   *
   * @example
   * ```ts
   * import { RateLimiter } from "@interlock/interlock";
   *
   * const tokens = new RateLimiter(1000, 60_000);
   * await tokens.acquire({ permits: 900 }); // an estimate
   * tokens.reward(300); // the call used 600
   * console.log(tokens.remaining); // 400
   * ```
   */
  reward(permits: number | readonly number[] = 1): void {
    this.#queue.reward(permits);
  }

  /**
   * Counts further starts now, even beyond the limit, for example after a call that used more tokens than it took.
   * Later calls wait until these starts have left the window, or the bucket has filled up again from below zero.
   *
   * @param permits How many starts: a number, or a list with one for each budget. Default: 1.
   * @throws {TypeError} when `permits` is neither a number nor a list of numbers.
   * @throws {RangeError} when `permits` is not a whole number of 0 or more.
   *
   * @example
   * ```ts
   * import { RateLimiter } from "@interlock/interlock";
   *
   * const tokens = new RateLimiter(1000, 60_000);
   * await tokens.acquire({ permits: 900 }); // an estimate
   * tokens.penalty(300); // the call used 1,200
   * console.log(tokens.remaining, tokens.tryAcquire()); // 0 false
   * ```
   */
  penalty(permits: number | readonly number[] = 1): void {
    this.#queue.penalize(permits);
  }

  /**
   * Closes the rate limiter for good: all waiters reject with `reason`, in order and in one step; later calls reject
   * with a {@linkcode ClosedError}, including calls of a pool with this `rate`. Cancelling again has no effect.
   *
   * @param reason Default: an AbortError.
   */
  cancel(reason?: unknown): void {
    closeStarts([this.#queue], reason);
  }
}

class LimiterBudget extends Budget<number> {}
printAs(LimiterBudget, "RateLimiterBudget", ["limit", "interval", "remaining"]);
