/**
 * A rate limit across machines. Invariants, by the server's clock: no window of the interval has more starts than the
 * limit; within any t ms a bucket has at most limit + t * limit / interval.
 *
 * @module
 */
import { checkFunction, checkName, checkOptions, must, quote, readWaitOptions } from "../internal/check.ts";
import { printAs } from "../internal/show.ts";
import { wrapFunction } from "../internal/wrap.ts";
import type { WaitOptions } from "../types.ts";
import { checkBlock, type Permits, readBudgets, readCounts, readPermits, type Starts } from "../internal/budgets.ts";
import type { Quota } from "../internal/start_log.ts";
import { changeRate, peek, type RateSpec, start } from "./rate/start_call.ts";
import { type Backend, checkBackend } from "./clients/backend.ts";
import { type Namespace, namespaceOf } from "./namespace.ts";
import { checkTextKey, prefixOf, rateKeysOf } from "./options.ts";

/** Options of a limiter, for the constructor of {@linkcode RedisRateLimiter}. */
export interface RedisRateLimiterOptions {
  /** The beginning of all keys in Redis, without braces or lone surrogates. Default: "interlock:". */
  readonly prefix?: string | undefined;
  /**
   * The kind of budgets that name none. "window": never more than `limit` starts in any window of `interval`
   * milliseconds. "bucket": a token bucket, which holds `limit` permits, is full at first, and gets one back every
   * `interval / limit` milliseconds. Default: "window".
   */
  readonly kind?: "window" | "bucket" | undefined;
}

/** Options of one call: of {@linkcode RedisRateLimiter.acquire} and {@linkcode RedisRateLimiter.run}. */
export interface RedisRateLimiterWaitOptions extends WaitOptions {
  /**
   * How many starts the call takes at once: a number, or a list with a number for each budget, such as `[1, 1200]`. A 0
   * in a list takes nothing from that budget; at least one number must be greater. Default: 1.
   */
  readonly permits?: number | readonly number[] | undefined;
}

/** The longest interval: a month. */
const MOST_MS = 31 * 24 * 3600 * 1000;

/** The longest block: a century. Its end is a number of microseconds that is exact. */
const MOST_BLOCKED = 100 * 365 * 24 * 3600 * 1000;

/** The most starts of one penalty: sums of thousands of them are exact. */
const MOST_COUNTED = 2 ** 40;

/**
 * Limits how often something starts, across processes and machines, by the server's clock: never more than `limit`
 * starts in any window of `interval` milliseconds, or a token bucket, or several of these budgets at once. The window
 * slides, so the limit holds at every moment. Calls have nothing to release.
 *
 * A start is the turn that the server gives to a call. A process that is paused between its turn and its work starts
 * later than the server knows. A server that restarts without data may allow one extra window. To limit how many calls
 * run at a time, use `RedisSemaphore`. Within one process, `RateLimiter` needs no commands.
 *
 * Not meant to be extended: wrap it in a class of your own.
 *
 * @example
 * ```ts
 * import { memoryBackend, RedisRateLimiter } from "@interlock/interlock/redis";
 *
 * // With nodeRedis(client), all processes share the limit.
 * const backend = memoryBackend();
 * const crawl = new RedisRateLimiter(backend, "crawl", 2, 1000);
 * const api = crawl.at("example.com");
 * console.log(await api.tryAcquire(), await api.tryAcquire(2)); // true false
 * await api.acquire({ timeout: 5000 });
 * ```
 */
export class RedisRateLimiter {
  #spec: RateSpec;
  readonly #backend: Backend;

  /** The prototype of limiters for one key, which have no `at`. */
  static #ofKey: object;

  static {
    printAs(RedisRateLimiter, "RedisRateLimiter", ["name", "key", "limit", "interval"], (limiter) => {
      const { name, key } = limiter.#spec.resource;
      return { name, key, limit: limiter.limit, interval: limiter.interval };
    });
    const { at: _, ...members } = Object.getOwnPropertyDescriptors(RedisRateLimiter.prototype);
    RedisRateLimiter.#ofKey = Object.create(Object.prototype, members);
  }

  /**
   * Creates a handle of the rate limiter with that name, without a command to Redis.
   *
   * @param backend A client, through an adapter such as `nodeRedis(client)`.
   * @param name Any text that is not empty. A name means the same limit for all callers with the same `prefix`.
   * @param limit Starts in any window, 1 or more. Callers may use different limits and intervals, as during the rollout
   * of a new version: each call is judged by its own numbers, and a process warning names the limiter once.
   * @param interval Length of the window in milliseconds, more than 0, at most 31 days.
   * @param options Where keys live, and the kind.
   * @throws {TypeError} when `backend` is a client without an adapter, or another argument or option has a wrong type.
   * @throws {RangeError} when `name` is empty, `limit` is not a whole number of 1 or more, `interval` is not above 0
   * and at most 31 days, or `kind` is unknown.
   */
  constructor(backend: Backend, name: string, limit: number, interval: number, options?: RedisRateLimiterOptions);
  /**
   * Creates a handle of a limiter with several budgets: a call starts when all of them allow it, and takes from all
   * atomically on the server.
   *
   * @param backend A client, through an adapter such as `nodeRedis(client)`.
   * @param name Any text that is not empty. A name means the same limits for all callers with the same `prefix`.
   * @param budgets One or more, each with `limit`, `interval` in milliseconds and optionally a `kind`.
   * @param options Where keys live, and the kind of budgets that name none.
   * @throws {TypeError} when `backend` is a client without an adapter, or another argument or option has a wrong type.
   * @throws {RangeError} when `name` or `budgets` is empty, or a number or `kind` of a budget is not allowed.
   */
  constructor(
    backend: Backend,
    name: string,
    budgets: readonly {
      readonly limit: number;
      readonly interval: number;
      readonly kind?: "window" | "bucket" | undefined;
    }[],
    options?: RedisRateLimiterOptions,
  );
  constructor(backend: Backend, name: string, ...args: readonly unknown[]) {
    checkBackend(backend);
    checkName(name);
    const [budgets, prefix] = readBudgets(args, prefixOf);
    for (const { interval } of budgets) {
      must(interval <= MOST_MS, "interval", "be at most 31 days in milliseconds", interval, RangeError);
    }
    this.#backend = backend;
    this.#spec = specOf(namespaceOf(backend, prefix), name, budgets);
  }

  /** The name of the limiter in Redis, without the key of `at`. */
  get name(): string {
    return this.#spec.resource.name!;
  }

  /**
   * Maximum number of starts in any window, or permits of a full bucket. With several budgets: the limit of the first
   * one.
   */
  get limit(): number {
    return this.#spec.budgets[0]!.limit;
  }

  /** The length of the window in milliseconds. With several budgets: the interval of the first one. */
  get interval(): number {
    return this.#spec.budgets[0]!.interval;
  }

  /**
   * Returns a limiter with the same numbers for one key, such as a host or a user. No command is sent to Redis.
   *
   * @param key Any text.
   * @throws {TypeError} when `key` is not a string.
   */
  at(key: string): Omit<RedisRateLimiter, "at"> {
    checkTextKey(key);
    const { namespace, namespace: { prefix }, budgets } = this.#spec;
    const limiter = new RedisRateLimiter(this.#backend, this.name, budgets, { prefix });
    limiter.#spec = specOf(namespace, this.name, budgets, key);
    return Object.setPrototypeOf(limiter, RedisRateLimiter.#ofKey);
  }

  /**
   * Waits until the call may start. A call sends one command. If it has to wait, it sleeps until its turn and sends
   * another command.
   *
   * **Fairness**: first come, first served, by arrival at the server.
   *
   * **Cancellation**: by `signal` or `timeout`, at any time. One command gives the start of the call back, and later
   * calls keep their turns or come sooner.
   *
   * @param options How many starts, and when to stop waiting; `timeout` in milliseconds. A call whose turn would come
   * after its `timeout` rejects at once, and uses no start.
   * @throws {TimeoutError} when the call's turn would come after the timeout, or Redis did not answer in time; `cause`
   *   is then the connection's error.
   * @throws {signal.reason} when the signal aborts.
   * @throws {RedisError} when Redis refuses the command. Without `signal` and `timeout`, also when Redis could not be
   *   reached for 30 s.
   * @throws {TypeError} when an option has a wrong type.
   * @throws {RangeError} when `timeout` is NaN or negative, or `permits` is above the limit.
   */
  async acquire(options?: RedisRateLimiterWaitOptions): Promise<void> {
    const { permits } = checkOptions(options, "permits");
    await start(this.#spec, this.#startsFor(permits), readWaitOptions(options) ?? {});
  }

  /**
   * Starts now if the limit allows it and no call waits for its turn.
   *
   * **Fairness**: the call never overtakes a waiter.
   *
   * **Cancellation**: none, because the call never waits.
   *
   * @param permits How many starts, all or none: a number, or a list with a number for each budget. Default: 1.
   * @returns Whether it started.
   * @throws {TypeError} when `permits` is neither a number nor a list of numbers.
   * @throws {RangeError} when `permits` is above the limit, or below 1.
   * @throws {RedisError} when Redis refuses the command, or cannot be reached.
   */
  async tryAcquire(permits: number | readonly number[] = 1): Promise<boolean> {
    return await start(this.#spec, this.#startsFor(permits)) === true;
  }

  /**
   * Waits until the call may start, and calls `fn`.
   *
   * **Fairness** and **Cancellation** as in {@linkcode RedisRateLimiter.acquire}.
   *
   * @param fn Called without arguments when the call may start.
   * @param options As for {@linkcode RedisRateLimiter.acquire}; they bound the wait, not `fn`.
   * @throws {TypeError} when `fn` is not a function.
   * @throws The errors of {@linkcode RedisRateLimiter.acquire} and of `fn`.
   */
  async run<T>(fn: () => T | PromiseLike<T>, options?: RedisRateLimiterWaitOptions): Promise<T> {
    checkFunction(fn);
    await this.acquire(options);
    return await fn();
  }

  /**
   * Returns the milliseconds until a call made now could start, behind the present waiters; 0 if it could start now.
   * Rounded up. One command, without taking a start.
   *
   * @param permits How many starts. Default: 1.
   * @throws {TypeError} when `permits` is neither a number nor a list of numbers.
   * @throws {RangeError} when `permits` is above the limit, or below 1.
   * @throws {RedisError} when Redis refuses the command, or cannot be reached.
   */
  async retryAfter(permits: number | readonly number[] = 1): Promise<number> {
    return Math.ceil((await peek(this.#spec, this.#startsFor(permits))).wait);
  }

  /**
   * Wraps `fn`, keeping its parameters, `this` and result: each call goes through {@linkcode RedisRateLimiter.run}.
   * `fn` gets only the arguments of the call.
   *
   * @param fn The function to wrap.
   * @throws {TypeError} when `fn` is not a function, or is a generator function.
   */
  wrap<T, A extends unknown[], R>(fn: (this: T, ...args: A) => R): (this: T, ...args: A) => Promise<Awaited<R>> {
    return wrapFunction(fn, (call) => this.run(call));
  }

  /**
   * Returns the starts that a new call could make now, by the first budget: 0 while calls wait for their turns or the
   * limit is blocked. One command, without taking a start.
   *
   * @throws {RedisError} when Redis refuses the command, or cannot be reached.
   */
  async remaining(): Promise<number> {
    return (await peek(this.#spec, this.#startsFor(1))).remaining;
  }

  /**
   * Blocks all starts for `ms` milliseconds from now, for example after a 429 response with Retry-After. A call may
   * prolong the current block but never shortens it. It holds for the waiters of all processes, which keep their order.
   *
   * @param ms Milliseconds, a finite number of 0 or more. More than a century counts as a century.
   * @throws {RedisError} when Redis refuses the command, or cannot be reached.
   * @throws {TypeError | RangeError} when `ms` is not a number of 0 or more.
   *
   * @example
   * ```ts
   * import { memoryBackend, RedisRateLimiter } from "@interlock/interlock/redis";
   *
   * const api = new RedisRateLimiter(memoryBackend(), "crawl", 10, 1000);
   * await api.block(30_000); // the response was a 429 with "Retry-After: 30"
   * console.log(await api.tryAcquire(), await api.remaining()); // false 0
   * ```
   */
  async block(ms: number): Promise<void> {
    checkBlock(ms);
    await changeRate(this.#spec, "block", { block: Math.min(ms, MOST_BLOCKED) });
  }

  /**
   * Gives back the latest starts, for example after a call that used less than it took: at most the starts within the
   * window, or the permits that are missing in a bucket. Waiters keep their turns; later calls come sooner. One
   * command.
   *
   * @param permits How many starts. Default: 1.
   * @throws {RedisError} when Redis refuses the command, or cannot be reached.
   * @throws {TypeError | RangeError} when `permits` is not a whole number of 0 or more.
   */
  async reward(permits: number | readonly number[] = 1): Promise<void> {
    const rewards = readCounts(permits, this.#spec.budgets.length);
    if (rewards.some(Boolean)) await changeRate(this.#spec, "reward", { starts: rewards.map((each) => -each) });
  }

  /**
   * Counts further starts now, even beyond the limit. Waiters of all processes wait for them, too. One command.
   *
   * @param permits How many starts. More than about a trillion count as a trillion. Default: 1.
   * @throws {RedisError} when Redis refuses the command, or cannot be reached.
   * @throws {TypeError | RangeError} when `permits` is not a whole number of 0 or more.
   */
  async penalty(permits: number | readonly number[] = 1): Promise<void> {
    const penalties = readCounts(permits, this.#spec.budgets.length).map((each) => Math.min(each, MOST_COUNTED));
    if (penalties.some(Boolean)) await changeRate(this.#spec, "penalize", { starts: penalties });
  }

  #startsFor(permits: Permits = 1): Starts {
    return readPermits(permits, this.#spec.budgets.map(({ limit }) => limit));
  }
}

function specOf(namespace: Namespace, name: string, budgets: readonly Quota[], key?: string): RateSpec {
  const keys = rateKeysOf(namespace.prefix, name, key);
  const what = `rate limiter ${quote(name)}${key === undefined ? "" : ` for key ${quote(key)}`}`;
  const sharedState = namespace.sharedStateOf(keys);
  const facts = { kind: "redis-rate-limiter", isHeld: false, isRemote: true, sharedState };
  const resource = { ...facts, name, ...key !== undefined && { key } };
  return { namespace, keys, budgets, what, resource };
}
