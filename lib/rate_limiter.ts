/**
 * The times of the latest starts, and a queue with one timer.
 *
 * @module
 */
import { isClockReadable, isClockReplaced, onCancel } from "./internal/cancellation.ts";
import {
  admit,
  checkFunction,
  checkInteger,
  checkNumber,
  isThenable,
  must,
  option,
  promised,
  readMaxWaiting,
  readName,
} from "./internal/check.ts";
import { hook } from "./internal/hook.ts";
import { timersEndWithRequest } from "./internal/platform.ts";
import { show } from "./internal/show.ts";
import { StartLog } from "./internal/start_log.ts";
import { Timer } from "./internal/timer.ts";
import { ROUNDING } from "./internal/timers.ts";
import { assertSoundWaitQueue } from "./internal/sound.ts";
import { cancelQueues, WaitQueue } from "./internal/wait_queue.ts";
import { describe, grant, isWaiting, permitsOf, reportGrant, type WaitedFor, Waiter } from "./internal/waiter.ts";
import type { MaxWaitingOptions, WaitOptions } from "./types.ts";

/** Options of {@linkcode RateLimiter.acquire} and {@linkcode RateLimiter.run}. */
export interface RateLimiterOptions extends WaitOptions {
  /** How many starts the call takes at once. Default: 1. */
  readonly permits?: number | undefined;
}

/** With a replaced clock, a turn of the event loop may pass any time: there the moment of the grant is the start. */
const platformNow = performance.now;

/**
 * For the pool: waits in the queue of `limiter`. `onTurn` is called in the step that grants the start, or with false if the
 * limiter was cancelled. Returns a function that leaves the queue, to be called before that; undefined if the start was
 * granted at once, by an observer's action.
 */
export let joinRateLimiter: (limiter: RateLimiter, onTurn: (isStart: boolean) => void) => (() => void) | undefined;

/** Whether a call of a pool may start, a microtask later. Throws if the limiter was cancelled. */
export let startSoon: (limiter: RateLimiter) => boolean;

/** Serves the limiter's queue from the request of `waiter`, while it waits: where timers end with their request. */
export let serveAlong: (limiter: RateLimiter, waiter: Waiter<void>) => void;

/**
 * For KeyedRateLimiter: sets the target that its calls wait for in place of itself, and a function that is called when
 * waiters were granted or have left.
 */
export let describeAs: (limiter: RateLimiter, self: WaitedFor, onServed: () => void) => void;

/** When no start will lie within the window any more, on the limiter's own clock; and how many ms that takes. */
export let windowEnd: (limiter: RateLimiter) => number;
export let idleIn: (limiter: RateLimiter) => number;

/** The private state, for {@linkcode assertSoundRateLimiter}, which bundlers drop because it is no method. */
let stateOf: (rateLimiter: RateLimiter) => readonly [queue: WaitQueue<void>, starts: StartLog, timer: Timer];

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
 */
export class RateLimiter {
  // #queue.size > 0 implies that #timer is set for the first waiter, by #now
  readonly #starts: StartLog;
  #self: WaitedFor;
  #onServed: (() => void) | undefined;
  readonly #queue: WaitQueue<void>;
  readonly #timer = new Timer((due) => this.#onDue(due), true);
  /** The latest time seen, and the correction of the platform's clock by which time never goes back. */
  #latest = -Infinity;
  #offset = 0;

  static {
    joinRateLimiter = (limiter, onTurn) => limiter.#join(onTurn);
    startSoon = (limiter) => limiter.#startSoon();
    serveAlong = (limiter, waiter) => limiter.#serveAlong(waiter);
    describeAs = (limiter, self, onServed) => {
      limiter.#self = self;
      limiter.#onServed = onServed;
    };
    windowEnd = (limiter) => limiter.#starts.end;
    idleIn = (limiter) => limiter.#starts.granted > 0 ? limiter.interval : limiter.#starts.end - limiter.#now();
    stateOf = (limiter) => [limiter.#queue, limiter.#starts, limiter.#timer];
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
  constructor(limit: number, interval: number, options?: MaxWaitingOptions) {
    checkInteger(limit, "limit", 1);
    checkInterval(interval);
    this.#self = describe("rate-limiter", "acquire rate limiter", readName(options));
    this.#queue = new WaitQueue({ afterLeave: () => this.#serve() }, readMaxWaiting(options));
    this.#starts = new StartLog(limit, interval);
  }

  /** Its name, which error messages and diagnostics show. */
  get name(): string | undefined {
    return this.#self.name;
  }

  /**
   * The most starts in any window. When it is set, the starts already made count against the new one; a waiter that wants
   * more waits on.
   *
   * @throws {TypeError} when it is set to something that is not a number.
   * @throws {RangeError} when it is set to something that is not a whole number of 1 or more.
   */
  get limit(): number {
    return this.#starts.limit;
  }

  set limit(limit: number) {
    checkInteger(limit, "limit", 1);
    this.#setWindow(limit, this.interval);
  }

  /**
   * The length of the window in milliseconds. When it is set, the starts already made count against the new one; after a
   * longer one, those that are still known.
   *
   * @throws {TypeError} when it is set to something that is not a number.
   * @throws {RangeError} when it is set to something that is not finite and above 0.
   */
  get interval(): number {
    return this.#starts.interval;
  }

  set interval(interval: number) {
    checkInterval(interval);
    this.#setWindow(this.limit, interval);
  }

  /** The length of the queue. */
  get waiting(): number {
    return this.#queue.size;
  }

  /** Whether it was cancelled. */
  get closed(): boolean {
    return this.#queue.closed;
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
   * @throws {ClosedError} when it was cancelled.
   */
  tryAcquire(permits: number = 1): boolean {
    this.#check(permits);
    this.#queue.checkOpen(this.#self);
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

  /**
   * Milliseconds until a call made now could start if no call came after it: behind those that wait, 0 if it could start
   * now. Rounded up to whole milliseconds; `Infinity` behind a waiter that wants more than a lowered limit. It is what a
   * Retry-After header needs, which counts seconds.
   *
   * @param permits How many starts. Default: 1.
   * @throws {TypeError} when `permits` is not a number.
   * @throws {RangeError} when it is not a whole number from 1 to the limit.
   */
  retryAfter(permits: number = 1): number {
    this.#check(permits);
    const now = this.#now();
    const queued = this.#queue.waiters().map(permitsOf);
    return Math.ceil(Math.max(0, this.#starts.readyBehind([...queued, permits], now) - now - ROUNDING));
  }

  /**
   * Closes the rate limiter for good: all waiters reject with `reason`, in order and in one step, and later calls with a
   * {@linkcode ClosedError}, also those of a pool that has it as its `rate`. The first reason stays.
   *
   * @param reason Default: an AbortError.
   */
  cancel(reason?: unknown): void {
    cancelQueues([this.#queue], reason);
    this.#setTimer();
  }

  /** Starts, and returns undefined, or waits. */
  #wait(options: RateLimiterOptions | undefined): Promise<void> | undefined {
    const permits = option(options, "permits", 1);
    this.#check(permits);
    const limits = admit(options, this.#queue, this.#self);
    if (this.#start(permits)) return undefined;
    const waiter = new Waiter<void>(this.#self, permits);
    const started = this.#queue.wait(waiter, limits);
    this.#setTimer();
    if (timersEndWithRequest) this.#serveAlong(waiter);
    return started;
  }

  #join(onTurn: (isStart: boolean) => void): (() => void) | undefined {
    const waiter = new Waiter<void>(this.#self);
    // The pool asks again after a rejection, and hears of it.
    this.#queue.join(waiter, (rejection) => onTurn(rejection === undefined), () => {});
    this.#setTimer();
    if (!isWaiting(waiter)) return undefined;
    return () => {
      this.#queue.remove(waiter);
      this.#serve();
    };
  }

  /** Whether a call of a pool may start. If not, the timer for those that wait may have gone with its clock. */
  #startSoon(): boolean {
    this.#queue.checkOpen(this.#self);
    if (this.#start(1)) return true;
    this.#setTimer();
    return false;
  }

  #check(permits: number): void {
    checkInteger(permits, "permits", 1, this.limit);
  }

  #setWindow(limit: number, interval: number): void {
    this.#starts.setWindow(limit, interval);
    this.#serve();
  }

  #start(permits: number, isNow = false): boolean {
    if (this.#queue.size > 0 || !this.#tryAdd(permits, isNow)) return false;
    if (hook !== undefined) reportGrant(new Waiter(this.#self, permits));
    return true;
  }

  /** Unless `isNow`, callers go on a microtask later, and the rest of this turn may take long: no start is earlier. */
  #tryAdd(permits: number, isNow = false): boolean {
    const now = this.#now();
    if (!this.#starts.tryAdd(permits, now)) return false;
    const { granted } = this.#starts;
    if (performance.now !== platformNow || isNow && granted === 0) return true;
    if (granted === 0) void this.#goOn();
    this.#starts.grant(permits, now);
    return true;
  }

  /** By `await`, which no clock of a test takes along, as it may `queueMicrotask`. */
  async #goOn(): Promise<void> {
    await this.#starts.settled(2); // the first may come before the callers go on, the second comes after all of them
    this.#starts.goOn(this.#now());
  }

  /** Grants what is allowed by now, and sets the timer for the next. */
  #serve(): void {
    let next = this.#queue.peek();
    // Letting smaller requests pass the first one would starve it.
    for (; next !== undefined && this.#tryAdd(permitsOf(next)); next = this.#queue.peek()) {
      this.#queue.shift(next);
      grant(next, undefined);
    }
    this.#setTimer();
    this.#onServed?.();
  }

  #setTimer(): void {
    const next = this.#queue.peek();
    const due = next === undefined ? Infinity : this.#starts.readyAt(permitsOf(next));
    if (due !== this.#timer.at) this.#timer.set(due, this.#now());
  }

  #serveAlong(waiter: Waiter<void>): void {
    if (!isWaiting(waiter)) return;
    const rest = Math.max(this.#timer.at - this.#now(), 1);
    onCancel({ timeout: Math.min(rest, this.interval) }, () => {
      this.#serve();
      this.#serveAlong(waiter);
    });
  }

  #onDue(due: number): void {
    if (isClockReplaced()) this.#starts.endTurn();
    const next = this.#queue.peek();
    // On a clock that cannot be read the timer is right, also about starts that were postponed since.
    const isRight = next !== undefined && !isClockReadable();
    const ready = isRight ? this.#starts.readyAt(permitsOf(next)) : due;
    this.#latest = Math.max(this.#latest, ready < Infinity ? ready : due); // it may want more than a lowered limit
    this.#serve();
  }

  /** Milliseconds on a clock that never goes back, also when a replaced one comes or goes. */
  #now(): number {
    const now = performance.now() + this.#offset;
    if (now >= this.#latest) return this.#latest = now;
    this.#offset += this.#latest - now;
    return this.#latest;
  }
}

/** Throws unless the invariants hold; for tests. */
export function assertSoundRateLimiter(rateLimiter: RateLimiter): void {
  const [queue, starts, timer] = stateOf(rateLimiter);
  assertSoundWaitQueue(queue);
  const [first] = queue.waiters();
  const due = first === undefined ? Infinity : starts.readyAt(permitsOf(first));
  // Starts that were postponed since are noticed when the timer fires.
  const isSet = first === undefined ? timer.at === Infinity : timer.at <= due;
  if (!isSet) throw new Error(`unsound rate limiter: the timer is set for ${timer.at}, not ${due}`);
}

function checkInterval(interval: unknown): asserts interval is number {
  checkNumber(interval, "interval");
  const isFinite = interval > 0 && interval < Infinity;
  must(isFinite, "interval", "be a finite number of milliseconds above 0", interval, RangeError);
}
