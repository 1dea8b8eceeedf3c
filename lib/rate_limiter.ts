/**
 * A limiter of starts: the public face of one queue of starts.
 *
 * @module
 */
import {
  admit,
  checkFunction,
  checkInteger,
  checkNotPromise,
  checkNumber,
  isThenable,
  must,
  option,
  promised,
  readMaxWaiting,
  readName,
} from "./internal/check.ts";
import { show } from "./internal/show.ts";
import type { RateWindow } from "./internal/start_log.ts";
import { assertSoundStartQueue, cancelStarts, type Permits, StartQueue } from "./internal/start_queue.ts";
import { describe } from "./internal/wait_queue.ts";
import { wrapped } from "./internal/wrap.ts";
import type { MaxWaitingOptions, WaitOptions } from "./types.ts";

/** Options of {@linkcode RateLimiter.acquire} and {@linkcode RateLimiter.run}. */
export interface RateLimiterOptions extends WaitOptions {
  /**
   * How many starts the call takes at once, or a list with one number for each budget, such as `[1, 1200]` for one request
   * of 1,200 tokens. In a list, 0 takes nothing from that budget; not all may be 0. Default: 1.
   */
  readonly permits?: number | readonly number[] | undefined;
}

/** One of the budgets that a limiter is made of. */
export interface RateBudget {
  /** Starts in any window, 1 or more. */
  readonly limit: number;
  /** Length of the window in milliseconds, more than 0. */
  readonly interval: number;
}

/** One budget of a {@linkcode RateLimiter}. */
export interface RateLimiterBudget {
  /** The most starts in any window. When it is set, the starts already made count against the new one. */
  limit: number;
  /** The length of the window in milliseconds. When it is set, the starts already made count against the new one. */
  interval: number;
  /** Starts that a new call could make now; 0 while others wait or the limiter is blocked. */
  readonly remaining: number;
}

/** For the pool. */
export let startQueueOf: (limiter: RateLimiter) => StartQueue;

/**
 * Limits how often something starts: never more than `limit` starts in any window of `interval` milliseconds. The window
 * slides, so there is no burst of twice the limit at an edge, unlike with a token bucket or fixed windows.
 *
 * With several budgets, a call starts when all of them allow it, and takes from all in one step: 20 a second and 1,000 an
 * hour, or requests and tokens a minute. Two limiters one behind the other cannot keep both promises: a start that the
 * first one has counted happens only after the wait for the second.
 *
 * Not for limiting how many run at a time (that is {@linkcode Semaphore} or {@linkcode Pool}), nor for a limit shared by
 * several processes: each has its own. There is nothing to release.
 *
 * A start is the moment at which a granted call goes on, on the monotonic clock, in the same turn of the event loop. A
 * window includes its beginning and not its end: with a limit of 1, starts are at least `interval` apart.
 *
 * Not meant to be extended: wrap it in a class of your own.
 *
 * @example
 * ```ts
 * import { RateLimiter } from "@interlock/interlock";
 *
 * const api = new RateLimiter(100, 60_000); // at most 100 requests in any minute
 * await api.acquire({ timeout: 5000 });
 * console.log(api.tryAcquire(99), api.tryAcquire()); // true false
 * ```
 *
 * @example Requests and tokens a minute
 * ```ts
 * import { RateLimiter } from "@interlock/interlock";
 *
 * const model = new RateLimiter([{ limit: 50, interval: 60_000 }, { limit: 30_000, interval: 60_000 }]);
 * await model.acquire({ permits: [1, 1200] }); // one request, with an estimate of its tokens
 * model.reward([0, 300]); // it needed 900
 * console.log(model.budgets.map(({ remaining }) => remaining)); // [ 49, 29100 ]
 * ```
 */
export class RateLimiter {
  readonly #starts: StartQueue;
  readonly #budgets: readonly RateLimiterBudget[];

  static {
    startQueueOf = (limiter) => limiter.#starts;
    show(RateLimiter, "RateLimiter", ["name", "limit", "interval", "waiting", "closed"]);
  }

  /**
   * At most `limit` starts in any window of `interval` milliseconds.
   *
   * @param limit Starts in any window, 1 or more.
   * @param interval Length of the window in milliseconds, more than 0.
   * @param options Its name, and how many calls may wait.
   * @throws {TypeError} when `limit`, `interval` or `maxWaiting` is not a number, or the name is not a string.
   * @throws {RangeError} when `limit` is not a whole number of 1 or more, `interval` is not finite and above 0, or
   *   `maxWaiting` is neither a whole number of 0 or more nor `Infinity`.
   */
  constructor(limit: number, interval: number, options?: MaxWaitingOptions);
  /**
   * Several budgets, each with a limit and an interval of its own.
   *
   * @param budgets One or more of them.
   * @param options Its name, and how many calls may wait.
   */
  constructor(budgets: readonly RateBudget[], options?: MaxWaitingOptions);
  constructor(...args: unknown[]) {
    const { windows, name, maxWaiting } = readBudgets(args);
    const self = describe("rate-limiter", "acquire rate limiter", name);
    const starts = this.#starts = new StartQueue(windows, self, maxWaiting);
    this.#budgets = windows.map((window, i) =>
      new LimiterBudget(window, () => starts.serve(), () => starts.remaining(i))
    );
  }

  /** Its name, which error messages and diagnostics show. */
  get name(): string | undefined {
    return this.#starts.self.name;
  }

  /**
   * The most starts in any window. When it is set, the starts already made count against the new one; a waiter that wants
   * more waits on.
   *
   * @throws {TypeError} when it is set to something that is not a number.
   * @throws {RangeError} when it is set to something that is not a whole number of 1 or more.
   */
  get limit(): number {
    return this.#budgets[0]!.limit;
  }

  set limit(limit: number) {
    this.#budgets[0]!.limit = limit;
  }

  /**
   * The length of the window in milliseconds. When it is set, the starts already made count against the new one; after a
   * longer one, those that are still known.
   *
   * @throws {TypeError} when it is set to something that is not a number.
   * @throws {RangeError} when it is set to something that is not finite and above 0.
   */
  get interval(): number {
    return this.#budgets[0]!.interval;
  }

  set interval(interval: number) {
    this.#budgets[0]!.interval = interval;
  }

  /**
   * The budgets, in the order in which they were passed. The members `limit`, `interval` and `remaining` of the limiter
   * are those of the first one.
   */
  get budgets(): readonly RateLimiterBudget[] {
    return this.#budgets;
  }

  /** Starts that a new call could make now: 0 while others wait, while it is blocked, and once it was cancelled. */
  get remaining(): number {
    return this.#budgets[0]!.remaining;
  }

  /** The length of the queue. */
  get waiting(): number {
    return this.#starts.waits.size;
  }

  /** Whether it was cancelled. */
  get closed(): boolean {
    return this.#starts.waits.closed;
  }

  /**
   * Waits until the call may start.
   *
   * **Fairness**: strictly first come, first served. Large requests are never overtaken by small ones.
   *
   * **Cancellation**: on abort or time-out the waiter leaves the queue in O(1) and uses no start up; those behind it move
   * up. An abort after the grant changes nothing: the start is used.
   *
   * @param options How many starts, and when to stop waiting; `timeout` in milliseconds.
   * @throws {TimeoutError} when the time is over.
   * @throws {QueueFullError} when `maxWaiting` calls are waiting already.
   * @throws {ClosedError} when it was cancelled.
   * @throws {TypeError} for options of a wrong type.
   * @throws {RangeError} for `permits` that are not whole numbers from 1 to the limit, and for a `timeout` that is NaN
   *   or negative.
   */
  acquire(options?: RateLimiterOptions): Promise<void> {
    return promised(() => acquireStart(this.#starts, options) ?? Promise.resolve());
  }

  /**
   * Starts now if that is allowed and the queue is empty.
   *
   * @param permits How many starts, all or none: a number, or a list with one for each budget. Default: 1.
   * @returns Whether it started.
   * @throws {TypeError} when `permits` is not a number.
   * @throws {RangeError} when it is not a whole number from 1 to the limit.
   * @throws {ClosedError} when it was cancelled.
   */
  tryAcquire(permits: number | readonly number[] = 1): boolean {
    const checked = this.#starts.readPermits(permits);
    this.#starts.waits.checkOpen(this.#starts.self);
    return this.#starts.tryStart(checked, true);
  }

  /**
   * Waits until the call may start, and calls `fn`.
   *
   * **Fairness** and **Cancellation** as in {@linkcode RateLimiter.acquire}; once `fn` runs, the options have no effect.
   *
   * @throws {TypeError} when `fn` is not a function; also rejects as {@linkcode RateLimiter.acquire} and `fn` do.
   */
  run<T>(fn: () => T | PromiseLike<T>, options?: RateLimiterOptions): Promise<T> {
    return runStart(this.#starts, fn, options);
  }

  /**
   * Returns a function with the parameters, `this` and result of `fn`, each call of which is a
   * {@linkcode RateLimiter.run}: `fn` gets the arguments of the call and nothing else.
   *
   * @throws {TypeError} when `fn` is not a function, or a generator function.
   */
  wrap<This, A extends unknown[], R>(
    fn: (this: This, ...args: A) => R,
  ): (this: This, ...args: A) => Promise<Awaited<R>> {
    return wrapped(fn, (call) => this.run(call));
  }

  /**
   * Milliseconds until a call made now could start if no call came after it: behind those that wait, 0 if it could start
   * now. Rounded up to whole milliseconds; `Infinity` behind a waiter that wants more than a lowered limit. It is what a
   * Retry-After header needs, which counts seconds.
   *
   * @param permits How many starts. Default: 1.
   * @throws {TypeError} when `permits` is not a number.
   * @throws {RangeError} when it is not a whole number from 1 to the limit.
   */
  retryAfter(permits: number | readonly number[] = 1): number {
    return this.#starts.retryAfter(this.#starts.readPermits(permits));
  }

  /**
   * Starts nothing for a time from now on, for example after an answer 429 with a Retry-After. Calls that wait keep their
   * places. It prolongs a block that lasts, and never shortens it.
   *
   * @param ms Milliseconds, a finite number of 0 or more.
   * @throws {TypeError} when `ms` is not a number.
   * @throws {RangeError} when it is not finite, or negative.
   */
  block(ms: number): void {
    checkBlock(ms);
    this.#starts.block(ms);
  }

  /**
   * Gives back the latest starts within the window, at most that number of them: a call that was not made, or that used
   * fewer tokens than it took.
   *
   * @param permits How many starts: a number, or a list with one for each budget. Default: 1.
   * @throws {TypeError} when `permits` is not a number.
   * @throws {RangeError} when it is not a whole number of 1 or more.
   */
  reward(permits: number | readonly number[] = 1): void {
    this.#starts.reward(this.#starts.readPermits(permits, false));
  }

  /**
   * Counts starts that were made without asking, now, even beyond the limit: a call that used more tokens than it took.
   * Later calls wait until these starts leave the window, too.
   *
   * @param permits How many starts: a number, or a list with one for each budget. Default: 1.
   * @throws {TypeError} when `permits` is not a number.
   * @throws {RangeError} when it is not a whole number of 1 or more.
   */
  penalty(permits: number | readonly number[] = 1): void {
    this.#starts.penalize(this.#starts.readPermits(permits, false));
  }

  /**
   * Closes the rate limiter for good: all waiters reject with `reason`, in order and in one step, and later calls with a
   * {@linkcode ClosedError}, also those of a pool that has it as its `rate`. The first reason stays.
   *
   * @param reason Default: an AbortError.
   */
  cancel(reason?: unknown): void {
    cancelStarts([this.#starts], reason);
  }
}

/** A budget's numbers, which can be set. */
export class BudgetNumbers {
  readonly #window: RateWindow;
  readonly #onChange: () => void;

  constructor(window: RateWindow, onChange: () => void) {
    this.#window = window;
    this.#onChange = onChange;
  }

  get limit(): number {
    return this.#window.limit;
  }

  set limit(limit: number) {
    checkInteger(limit, "limit", 1);
    this.#window.limit = limit;
    this.#onChange();
  }

  get interval(): number {
    return this.#window.interval;
  }

  set interval(interval: number) {
    checkInterval(interval, "interval");
    this.#window.interval = interval;
    this.#onChange();
  }
}

class LimiterBudget extends BudgetNumbers implements RateLimiterBudget {
  readonly #remaining: () => number;

  static {
    show(LimiterBudget, "RateLimiterBudget", ["limit", "interval", "remaining"]);
  }

  constructor(window: RateWindow, onChange: () => void, remaining: () => number) {
    super(window, onChange);
    this.#remaining = remaining;
  }

  get remaining(): number {
    return this.#remaining();
  }
}

/** Reads and checks the arguments of a limiter's constructor. */
export function readBudgets(args: readonly unknown[]): { windows: RateWindow[]; name?: string; maxWaiting: number } {
  const [first, second, third] = args;
  const isList = typeof first === "object";
  const options = (isList ? second : third) as MaxWaitingOptions | undefined;
  const windows = isList ? readList(first) : [readWindow(first, second, "")];
  const name = readName(options);
  return { windows, maxWaiting: readMaxWaiting(options), ...name !== undefined && { name } };
}

function readList(list: unknown): RateWindow[] {
  checkNotPromise(list, "budgets");
  must(Array.isArray(list), "budgets", "be a list of objects with a limit and an interval", list);
  must(list.length > 0, "budgets", "not be an empty list", list.length, RangeError);
  return Array.from(list as readonly (RateBudget | undefined)[], (budget, i) => {
    must(typeof budget === "object" && budget !== null, `budgets[${i}]`, "be an object", budget);
    return readWindow(budget.limit, budget.interval, `budgets[${i}].`);
  });
}

function readWindow(limit: unknown, interval: unknown, where: string): RateWindow {
  checkInteger(limit, `${where}limit`, 1);
  checkInterval(interval, `${where}interval`);
  return { limit, interval };
}

function checkInterval(interval: unknown, name: string): asserts interval is number {
  checkNumber(interval, name);
  must(interval > 0 && interval < Infinity, name, "be a finite number of milliseconds above 0", interval, RangeError);
}

/** For {@linkcode RateLimiter.block}. */
export function checkBlock(ms: unknown): asserts ms is number {
  checkNumber(ms, "ms");
  must(ms >= 0 && ms < Infinity, "ms", "be a finite number of milliseconds, 0 or more", ms, RangeError);
}

/** Starts a call, and returns undefined, or waits. */
export function acquireStart(starts: StartQueue, options: RateLimiterOptions | undefined): Promise<void> | undefined {
  const permits: Permits = starts.readPermits(option(options, "permits", 1));
  const limits = admit(options, starts.waits, starts.self);
  return starts.tryStart(permits) ? undefined : starts.wait(permits, limits);
}

/** Calls `fn` once it may start. */
export async function runStart<T>(
  starts: StartQueue,
  fn: () => T | PromiseLike<T>,
  options: RateLimiterOptions | undefined,
): Promise<T> {
  checkFunction(fn, "fn");
  await acquireStart(starts, options); // also when it may start at once: `fn` is never called inside of the call of `run`
  const result = fn();
  return isThenable(result) ? await result : result; // awaited, so that the stack of an error shows the caller
}

/** Throws unless the invariants hold; for tests. */
export function assertSoundRateLimiter(rateLimiter: RateLimiter): void {
  assertSoundStartQueue(startQueueOf(rateLimiter));
}
