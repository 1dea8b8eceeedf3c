/**
 * What a hold across machines looks like.
 *
 * @module
 */

/**
 * Proof of one hold in Redis: a hold that ends by itself unless it is renewed, so that a crashed holder blocks nobody
 * for ever. Give it back with `release()` or `await using`.
 *
 * A lease is a promise about time, not about your process: one that is paused (a debugger, a suspended laptop, a long
 * collection of garbage) may go on a little after its lease has ended. `signal` and `held` tell as soon as JavaScript
 * lets them; only the check of the `fencingToken` at the resource itself makes a write safe.
 */
export interface Lease extends AsyncDisposable {
  /** Who holds, as `inspect()` shows it. */
  readonly id: string;
  /** Whether the hold can still be trusted. Looks at the clock, so it is right even where no timer could run. */
  readonly held: boolean;
  /**
   * Aborts, once, with a {@linkcode LeaseLostError} as soon as the lease can no longer be trusted: Redis does not know
   * it any more, or it could not be renewed in time. Giving it back does not abort it.
   */
  readonly signal: AbortSignal;
  /**
   * Grows with every grant of this name, also after Redis has lost its data. Send it along with each write, and let
   * the resource refuse a lower one than it has seen. A safe integer.
   */
  readonly fencingToken: number;
  /** When the lease ends unless it is renewed, in milliseconds as of `Date.now()`. For show: `held` does not use it. */
  readonly expiresAt: number;
  /** Milliseconds from one renewal to the end of the lease. */
  readonly ttl: number;
  /**
   * Sets the end of the lease to `ttl` milliseconds from now; it never adds. Later renewals use the same time. Less
   * than is left counts from the call on: without an answer from Redis, the lease is lost when that time is over.
   *
   * @param ttl Milliseconds, 10 or more; the lease's own `ttl` unless said.
   * @throws {LeaseLostError} The lease is lost already, or could not be extended before it ended.
   * @throws {NotHeldError} It was given back.
   */
  extend(ttl?: number): Promise<void>;
  /**
   * Gives the hold back. Calling it again gives the same promise.
   *
   * @returns Whether it still held. False after a loss, and where Redis could not confirm it before the lease ended.
   * @throws {RedisError} Redis refuses, or the client is closed. The hold then ends with its time.
   */
  release(): Promise<boolean>;
}
