/**
 * The times of the latest starts, and a queue with one timer.
 *
 * @module
 */
import { type CancelRegistration, isClockReadable, onCancel } from "./internal/cancellation.ts";
import {
  checkFunction,
  checkInteger,
  checkNumber,
  isThenable,
  must,
  promised,
  readName,
  readWaitOptions,
  throwIfAborted,
} from "./internal/check.ts";
import { hook } from "./internal/hook.ts";
import { show } from "./internal/show.ts";
import { StartLog } from "./internal/start_log.ts";
import { WaitQueue } from "./internal/wait_queue.ts";
import { describe, grant, PlainWaiter, reportGrant, type WaitedFor } from "./internal/waiter.ts";
import type { NameOptions, WaitOptions } from "./types.ts";

/** More than the error of a sum of times in ms: a timer for 100 ms must not be set to 101. */
const ROUNDING = 1e-6;

/** Options of {@linkcode RateLimiter.acquire} and {@linkcode RateLimiter.run}. */
export interface RateLimiterOptions extends WaitOptions {
  /** How many starts the call takes at once. Default: 1. */
  readonly permits?: number | undefined;
}

/** With a replaced clock, a turn of the event loop may pass any time: there the moment of the grant is the start. */
const platformNow = performance.now;

/**
 * For the pool: waits in the queue of `limiter`. `onStart` is called in the step that grants the start. Returns a function
 * that leaves the queue, to be called before that.
 */
export let joinRateLimiter: (limiter: RateLimiter, onStart: () => void) => () => void;

/** Whether a call of a pool may start, a microtask later. */
export let startSoon: (limiter: RateLimiter) => boolean;

/**
 * Limits how often something starts: never more than `limit` starts in any window of `interval` milliseconds. The window
 * slides, so there is no burst of twice the limit at an edge, unlike with a token bucket or fixed windows.
 *
 * Not for limiting how many run at a time (that is {@linkcode Semaphore} or {@linkcode Pool}), nor for a limit shared by
 * several processes: each has its own. There is nothing to release.
 *
 * A start is the moment at which a granted call goes on, on the monotonic clock, in the same turn of the event loop. A
 * window includes its beginning and not its end: with a limit of 1, starts are at least `interval` apart.
 *
 * @example
 * ```ts
 * import { RateLimiter } from "@interlock/interlock";
 *
 * const api = new RateLimiter(100, 60_000); // at most 100 requests in any minute
 * await api.acquire({ timeout: 5000 });
 * console.log(api.tryAcquire(99), api.tryAcquire()); // true false
 * ```
 */
export class RateLimiter {
  // #queue.size > 0 implies that #timer is set for the first waiter, at #due
  readonly #limit: number;
  readonly #interval: number;
  readonly #starts: StartLog;
  readonly #self: WaitedFor;
  readonly #queue: WaitQueue<void, PlainWaiter<void>> = new WaitQueue({ afterLeave: () => this.#serve() });
  #timer: CancelRegistration | undefined;
  /** When the first waiter may start, by #now; Infinity while no timer is set. */
  #due = Infinity;
  /** The latest time seen, and the correction of the platform's clock by which time never goes back. */
  #latest = -Infinity;
  #offset = 0;

  static {
    joinRateLimiter = (limiter, onStart) => limiter.#join(onStart);
    startSoon = (limiter) => limiter.#start(1);
    show(RateLimiter, ["name", "limit", "interval", "waiting"]);
  }

  /**
   * A rate limiter that has not started anything yet.
   *
   * @param limit Starts in any window, 1 or more.
   * @param interval Length of the window in milliseconds, more than 0.
   * @param options Its name.
   * @throws {TypeError} when `limit` or `interval` is not a number, or the name is not a string.
   * @throws {RangeError} when `limit` is not a whole number of 1 or more, or `interval` is not finite and above 0.
   */
  constructor(limit: number, interval: number, options?: NameOptions) {
    checkInteger(limit, "limit", 1);
    checkNumber(interval, "interval");
    const isFinite = interval > 0 && interval < Infinity;
    must(isFinite, "interval", "be a finite number of milliseconds above 0", interval, RangeError);
    this.#self = describe("rate-limiter", "acquire rate limiter", readName(options));
    this.#limit = limit;
    this.#interval = interval;
    this.#starts = new StartLog(limit, interval);
  }

  /** Its name, which error messages and diagnostics show. */
  get name(): string | undefined {
    return this.#self.name;
  }

  /** The most starts in any window. */
  get limit(): number {
    return this.#limit;
  }

  /** The length of the window in milliseconds. */
  get interval(): number {
    return this.#interval;
  }

  /** The length of the queue. */
  get waiting(): number {
    return this.#queue.size;
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
   * @throws {TypeError} for options of a wrong type.
   * @throws {RangeError} for `permits` that are not a whole number from 1 to the limit, and for a `timeout` that is NaN
   *   or negative.
   */
  acquire(options?: RateLimiterOptions): Promise<void> {
    return promised(() => this.#wait(options) ?? Promise.resolve());
  }

  /**
   * Starts now if that is allowed and the queue is empty.
   *
   * @param permits How many starts, all or none. Default: 1.
   * @returns Whether it started.
   * @throws {TypeError} when `permits` is not a number.
   * @throws {RangeError} when it is not a whole number from 1 to the limit.
   */
  tryAcquire(permits: number = 1): boolean {
    this.#check(permits);
    return this.#start(permits, true);
  }

  /**
   * Waits until the call may start, and calls `fn`.
   *
   * **Fairness** and **Cancellation** as in {@linkcode RateLimiter.acquire}; once `fn` runs, the options have no effect.
   *
   * @throws {TypeError} when `fn` is not a function; also rejects as {@linkcode RateLimiter.acquire} and `fn` do.
   */
  async run<T>(fn: () => T | PromiseLike<T>, options?: RateLimiterOptions): Promise<T> {
    checkFunction(fn, "fn");
    await this.#wait(options); // also when it may start at once: `fn` is never called inside of the call of `run`
    const result = fn();
    return isThenable(result) ? await result : result; // awaited, so that the stack of an error shows the caller
  }

  /** Starts, and returns undefined, or waits. */
  #wait(options: RateLimiterOptions | undefined): Promise<void> | undefined {
    const limits = readWaitOptions(options);
    const { permits = 1 } = options ?? {};
    this.#check(permits);
    throwIfAborted(limits);
    if (this.#start(permits)) return undefined;
    const started = this.#queue.wait(new PlainWaiter(this.#self, permits), limits);
    this.#setTimer();
    return started;
  }

  #join(onStart: () => void): () => void {
    const waiter = new PlainWaiter<void>(this.#self);
    this.#queue.join(waiter, onStart, () => {});
    this.#setTimer();
    return () => {
      this.#queue.remove(waiter);
      this.#serve();
    };
  }

  #check(permits: number): void {
    checkInteger(permits, "permits", 1, this.#limit);
  }

  #start(permits: number, isNow = false): boolean {
    if (this.#queue.size > 0 || !this.#tryAdd(permits, isNow)) return false;
    if (hook !== undefined) reportGrant(new PlainWaiter(this.#self, permits));
    return true;
  }

  /** Unless `isNow`, callers go on a microtask later, and the rest of this turn may take long: no start is earlier. */
  #tryAdd(permits: number, isNow = false): boolean {
    const now = this.#now();
    if (!this.#starts.tryAdd(permits, now)) return false;
    const { granted } = this.#starts;
    if (performance.now !== platformNow || isNow && granted === 0) return true;
    // Twice: the first microtask may come before the callers go on, the second comes after all of them.
    if (granted === 0) queueMicrotask(() => queueMicrotask(() => this.#starts.goOn(this.#now())));
    this.#starts.grant(permits, now);
    return true;
  }

  /** Grants what is allowed by now, and sets the timer for the next. */
  #serve(): void {
    let next = this.#queue.peek();
    // Letting smaller requests pass the first one would starve it.
    for (; next !== undefined && this.#tryAdd(next.permits); next = this.#queue.peek()) {
      this.#queue.shift(next);
      grant(next, undefined);
    }
    this.#setTimer();
  }

  #setTimer(): void {
    const next = this.#queue.peek();
    const due = next === undefined ? Infinity : this.#starts.readyAt(next.permits);
    if (due === this.#due && !this.#timer?.isStale) return;
    this.#timer?.end();
    this.#timer = undefined;
    this.#due = due;
    if (due === Infinity) return;
    const isReadable = isClockReadable();
    this.#timer = onCancel({ timeout: Math.max(0, due - this.#now() - ROUNDING) }, () => {
      // On a clock that cannot be read the timer is right, also about starts that were postponed since.
      this.#latest = Math.max(this.#latest, isReadable ? due : this.#starts.readyAt(next!.permits));
      this.#due = Infinity;
      this.#serve();
    });
  }

  /** Milliseconds on a clock that never goes back, also when a replaced one comes or goes. */
  #now(): number {
    const now = performance.now() + this.#offset;
    if (now >= this.#latest) return this.#latest = now;
    this.#offset += this.#latest - now;
    return this.#latest;
  }
}
