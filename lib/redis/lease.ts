/**
 * A hold across machines.
 *
 * @module
 */
import type { Acquirable, WaitOptions } from "../types.ts";

/**
 * Proof of one hold in Redis. The hold expires unless it is renewed, so a crashed holder blocks other callers for a
 * limited time only. End it with `release()` or `await using`.
 *
 * A lease does not stop a paused process: after a debugger stop, a suspend or a long garbage collection, the process
 * may continue briefly although its lease has ended. `signal` and `held` change as soon as JavaScript runs again; only
 * a check of the `fencingToken` at the resource itself makes a write safe.
 */
export interface Lease extends AsyncDisposable {
  /** Identifies the hold, as in `inspect()`. */
  readonly id: string;
  /**
   * Whether the hold can still be trusted. It compares clocks, so it is correct even if no timer could run. After a
   * suspend the wall clock and the monotonic clock disagree. If their difference has changed by more than a tenth of
   * the `ttl` (at most 1 s) since the last confirmation, `held` is false until a renewal is confirmed. With `renew:
   * false`, call `verify()` or `extend()`.
   */
  readonly held: boolean;
  /**
   * Aborts, once, with a {@linkcode LeaseLostError} as soon as the lease can no longer be trusted: Redis does not know
   * it, or it could not be renewed in time. `release()` does not abort it.
   */
  readonly signal: AbortSignal;
  /**
   * Grows with every grant of this name, even after Redis has lost its data, unless the clock of the server is then
   * behind. Send it with each write, and let the resource refuse a lower token than it has seen. A safe integer.
   */
  readonly fencingToken: number;
  /** The end of the lease unless it is renewed, in epoch milliseconds. For display: `held` does not use it. */
  readonly expiresAt: number;
  /** Milliseconds from one renewal to the end of the lease. */
  readonly ttl: number;
  /**
   * Sets the end of the lease to `ttl` milliseconds from now, without adding the remaining time. Later renewals use the
   * same time. If `ttl` is shorter than the remaining time, it counts from the call on: if Redis does not answer, the
   * lease is lost after `ttl`.
   *
   * @param ttl Milliseconds, 10 or more. Default: the lease's own `ttl`.
   * @throws {LeaseLostError} when the lease is lost already, or could not be extended before it ended.
   * @throws {NotHeldError} when the lease was released.
   * @throws {TypeError} when `ttl` is not a number.
   * @throws {RangeError} when `ttl` is not a whole number from 10 to 2,147,483,647.
   *
   * @example
   * ```ts
   * import { memoryBackend, RedisLock } from "@interlock/interlock/redis";
   *
   * const options = { ttl: 1000, renew: false };
   * const orders = new RedisLock(memoryBackend(), "orders", options);
   * await using lease = await orders.acquire();
   * await lease.extend(60_000); // the next step takes longer
   * console.log(lease.expiresAt - Date.now() > 50_000); // true
   * ```
   */
  extend(ttl?: number): Promise<void>;
  /**
   * Checks whether the server still keeps the hold, without extending it. If not, the lease is lost and its signal
   * aborts.
   *
   * @returns True if the server still keeps the hold; false after a loss or a release.
   * @throws {RedisError} when Redis refuses the command, or gives no answer.
   */
  verify(): Promise<boolean>;
  /**
   * Ends the hold and hands it off to the next waiter. Calling it again returns the same promise.
   *
   * @returns True if this call gave the hold back, even with a late answer or a second attempt. False after a loss.
   * @throws {RedisError} when Redis refuses the command, the client was closed while the lease was held, or the outcome
   *   is unknown: an answer was lost, and the hold is over by now.
   */
  release(): Promise<boolean>;
}

/**
 * A lock over Redis: an {@linkcode Acquirable} of leases, which can change hands.
 *
 * @typeParam O The options of a wait.
 */
export interface RedisAcquirable<O extends WaitOptions = WaitOptions> extends Acquirable<Lease, O> {
  /**
   * Takes over the lease with this `lease.id`, even from another process; see {@linkcode RedisLock.adopt}.
   *
   * @param id The `id` of the lease.
   * @returns The lease; undefined if it is no longer held.
   */
  adopt(id: string): Promise<Lease | undefined>;
  /**
   * Wraps `fn`: each call goes through `run`. The wrapper has the parameters, `this` and result of `fn`; see
   * {@linkcode RedisLock.wrap}.
   *
   * @param fn The function to wrap.
   * @throws {TypeError} when `fn` is not a function, or is a generator function.
   */
  wrap<T, A extends unknown[], R>(fn: (this: T, ...args: A) => R): (this: T, ...args: A) => Promise<Awaited<R>>;
}
