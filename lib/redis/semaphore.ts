/**
 * A counting semaphore across machines. Invariant: the permits of all trusted leases of a name never add up to more
 * than its limit, and the permits of a crashed holder are free at the end of its lease.
 *
 * @module
 */
import { checkInteger, checkName, checkOptions, must, promiseTry, quote } from "../internal/check.ts";
import { exposeState } from "../internal/state.ts";
import { printAs } from "../internal/show.ts";
import { wrapFunction } from "../internal/wrap.ts";
import type { WaitOptions } from "../types.ts";
import { acquire, acquireOnce } from "./call/acquire_call.ts";
import { adoptLease, forceRelease, identityOf, inspect, runHolding } from "./body.ts";
import type { Inspection } from "./inspect.ts";
import type { Lease, RedisAcquirable } from "./lease.ts";
import type { RedisOptions } from "./options.ts";
import { type Backend, checkBackend } from "./clients/backend.ts";
import { type ResourceSpec, setupOf, specOf } from "./resource_spec.ts";

/** Options of {@linkcode RedisSemaphore.acquire} and {@linkcode RedisSemaphore.run}. */
export interface RedisSemaphoreWaitOptions extends WaitOptions {
  /** How many permits, all in one lease. Default: 1. */
  readonly permits?: number | undefined;
}

/**
 * Limits the number of concurrent holders, across processes and machines. Each lease holds one or more permits until it
 * is released or ends.
 *
 * To limit a rate (n starts per second), use `RedisRateLimiter`. For one holder at a time, use `RedisLock`, which is
 * cheaper than a semaphore of 1.
 *
 * **Fairness**: first come, first served; small requests never overtake a large one at the head of the queue.
 *
 * **Cancellation**: a cancelled call leaves nothing in Redis, and the waiters behind it move up.
 *
 * Not meant to be extended: wrap it in a class of your own.
 *
 * @example
 * ```ts
 * import { nodeRedis, RedisSemaphore } from "@interlock/interlock/redis";
 * import { createClient } from "redis";
 *
 * // Connect it before use:
 * const client = createClient({ url: "redis://127.0.0.1:6379" });
 * const crawlers = new RedisSemaphore(nodeRedis(client), "details", 3);
 *
 * export async function crawl(url: string) {
 *   return await crawlers.run(
 *     ({ signal }) => fetch(url, { signal }),
 *     { timeout: 60_000 },
 *   );
 * }
 * ```
 */
export class RedisSemaphore implements RedisAcquirable<RedisSemaphoreWaitOptions> {
  readonly #spec: ResourceSpec;

  static {
    exposeState(RedisSemaphore, (semaphore) => identityOf(semaphore.#spec));
    printAs(
      RedisSemaphore,
      "RedisSemaphore",
      ["name", "permits"],
      (one) => ({ ...one.#spec.resource, permits: one.permits }),
    );
  }

  /**
   * Creates a handle of the semaphore with that name, without a command to Redis.
   *
   * @param backend A client, through an adapter such as `nodeRedis(client)`.
   * @param name Any text that is not empty.
   * @param permits The number of permits, 1 or more. Callers may use different numbers, as during the rollout of a new
   * version: each call is judged by its own number, and a process warning names the semaphore once.
   * @param options Length and renewal of the leases, and where keys live.
   * @throws {TypeError} when `backend` is a client without an adapter, or another argument or option has a wrong type.
   * @throws {RangeError} when `name` is empty, `permits` is not a whole number from 1 to 2,147,483,647, `ttl` is not
   * one from 10 to 2,147,483,647, or `renew` is 0 or less.
   */
  constructor(backend: Backend, name: string, permits: number, options?: RedisOptions) {
    checkBackend(backend);
    checkName(name);
    checkInteger(permits, "permits", 1, 2 ** 31 - 1);
    const resource = { kind: "redis-semaphore", name };
    const what = `semaphore ${quote(name)}`;
    this.#spec = specOf(setupOf(backend, options), ["semaphore", name], what, resource, { limit: permits });
  }

  /** The number of permits, taken and free. */
  get permits(): number {
    return this.#spec.limit;
  }

  /**
   * Waits in the queue for permits.
   *
   * **Fairness**: strictly first come, first served, for any number of permits.
   *
   * **Cancellation**: by `signal` or `timeout`, at any time.
   *
   * @param options `permits` (default: 1), `signal`, and `timeout` in milliseconds for the whole call.
   * @throws {TimeoutError} when the timeout has passed; `cause` is the connection's error if there is one.
   * @throws {signal.reason} when the signal aborts.
   * @throws {RedisError} when Redis refuses the command. Without `signal` and `timeout`, also when Redis could not be
   *   reached for one `ttl`.
   * @throws {TypeError} when an option has a wrong type.
   * @throws {RangeError} when `permits` is not a whole number from 1 to the semaphore's `permits`, or `timeout` is NaN
   *   or negative.
   *
   * @example
   * ```ts
   * import { memoryBackend, RedisSemaphore } from "@interlock/interlock/redis";
   *
   * const seats = new RedisSemaphore(memoryBackend(), "seats", 8);
   * await using _ = await seats.acquire({ permits: 6, timeout: 1000 });
   * console.log(await seats.tryAcquire(3)); // undefined
   * ```
   */
  async acquire(options?: RedisSemaphoreWaitOptions): Promise<Lease> {
    return await acquire(this.#specFor(checkOptions(options, "permits").permits), options);
  }

  /**
   * Takes the permits in one round trip if they are free and the queue is empty.
   *
   * **Fairness**: the call never overtakes a waiter.
   *
   * **Cancellation**: none, because the call never waits.
   *
   * @param permits How many. Default: 1.
   * @throws {TypeError} when `permits` is not a number.
   * @throws {RangeError} when `permits` is not a whole number from 1 to the semaphore's `permits`.
   * @throws {RedisError} when Redis refuses the command, or cannot be reached.
   */
  tryAcquire(permits = 1): Promise<Lease | undefined> {
    return promiseTry(() => acquireOnce(this.#specFor(permits)));
  }

  /**
   * Takes over the lease with this `lease.id`, even from another process: a scheduler acquires, and a worker continues.
   * The new lease has the same fencing token, its own id, and this object's `ttl` and `renew`. The first lease is lost:
   * its holder notices at its next renewal, `verify` or `extend`. Do not adopt a lease that its holder still uses.
   *
   * @param id The `id` of a lease of this name, with any number of permits.
   * @returns The lease; undefined if it is no longer held.
   * @throws {TypeError | RangeError} when `id` is not a string, or is empty.
   * @throws {RedisError} when Redis refuses the command, or could not be reached for one `ttl`.
   */
  adopt(id: string): Promise<Lease | undefined> {
    return adoptLease({ ...this.#spec, weight: 0 }, id); // any
  }

  /**
   * Calls `fn` while holding permits, and gives them back when `fn` has ended, even with an error. If the lease is lost
   * meanwhile, `lease.signal` aborts, and `fn` has to stop: `run` itself does not throw then.
   *
   * **Fairness** and **Cancellation** as in {@linkcode RedisSemaphore.acquire}.
   *
   * @param fn Called with the lease.
   * @param options As for {@linkcode RedisSemaphore.acquire}; they bound the wait, not `fn`.
   * @throws {TypeError} when `fn` is not a function.
   * @throws The errors of {@linkcode RedisSemaphore.acquire} and of `fn`.
   */
  run<T>(fn: (lease: Lease) => T | PromiseLike<T>, options?: RedisSemaphoreWaitOptions): Promise<T> {
    return runHolding(() => this.acquire(options), fn);
  }

  /**
   * Wraps `fn`: each call goes through `run`. The wrapper has the parameters, `this` and result of `fn`. `fn` gets only
   * the arguments of the call. If `fn` has to notice the loss of its lease, use `run`.
   *
   * @param fn The function to wrap.
   * @throws {TypeError} when `fn` is not a function, or is a generator function.
   */
  wrap<T, A extends unknown[], R>(fn: (this: T, ...args: A) => R): (this: T, ...args: A) => Promise<Awaited<R>> {
    return wrapFunction(fn, (call) => this.run(call));
  }

  /**
   * Returns the holders and the waiters, at one moment. For display: the result is outdated when it arrives.
   *
   * @throws {RedisError} when Redis refuses the command, or cannot be reached.
   */
  inspect(): Promise<Inspection> {
    return inspect(this.#spec);
  }

  /**
   * Revokes all holds and hands off to the next waiters. The holders notice as in {@linkcode RedisLock.forceRelease}.
   * Until then, only a check of fencing tokens keeps out their writes.
   *
   * @returns Whether there was a holder.
   * @throws {RedisError} when Redis refuses the command, or cannot be reached.
   */
  forceRelease(): Promise<boolean> {
    return forceRelease(this.#spec);
  }

  #specFor(permits = 1): ResourceSpec {
    checkInteger(permits, "permits", 1);
    const { limit, what } = this.#spec;
    must(permits <= limit, "permits", `not be more than the ${limit} of ${what}`, permits, RangeError);
    return permits === 1 ? this.#spec : { ...this.#spec, weight: permits };
  }
}
