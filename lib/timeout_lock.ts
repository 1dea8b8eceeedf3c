/**
 * A lock with a default time-out for its waits.
 *
 * @module
 */
import { checkTimeout, promiseTry, readWaitOptions } from "./internal/check.ts";
import { setClassName } from "./internal/class_name.ts";
import { Lock } from "./lock.ts";
import type { Guard, MaxWaitingOptions, WaitOptions } from "./types.ts";

/**
 * A {@linkcode Lock} with a default `timeout` for `acquire` and `run`.
 *
 * The timeout does not limit how long the lock is *held*: a hold never expires. After any mix of time-outs and
 * releases, the lock is free or has a live holder.
 *
 * Not meant to be extended: guards, `run` and `acquireAll` may bypass overridden methods. Wrap it in a class of your
 * own.
 *
 * @example
 * ```ts
 * import { TimeoutError, TimeoutLock } from "@interlock/interlock";
 *
 * const lock = new TimeoutLock(20);
 * using _ = await lock.acquire();
 * await lock.acquire().catch((error) => {
 *   console.log(error instanceof TimeoutError); // true
 * });
 * ```
 */
export class TimeoutLock extends Lock {
  readonly #timeout: number;

  /**
   * Creates an unlocked lock with a default time-out.
   *
   * @param timeout Milliseconds after which `acquire` and `run` time out. `Infinity`: never.
   * @param options A name, and how many calls may wait.
   * @throws {TypeError} when `timeout` or `maxWaiting` is not a number, or the name is not a string.
   * @throws {RangeError} when `timeout` is NaN or negative, or `maxWaiting` neither a whole number of 0 or more nor
   *   `Infinity`.
   */
  constructor(timeout: number, options?: MaxWaitingOptions) {
    checkTimeout(timeout);
    super(options);
    this.#timeout = timeout;
  }

  /**
   * Waits for the lock, at most `options.timeout` or else the lock's own time. `Infinity` waits indefinitely.
   *
   * **Fairness** and **Cancellation** as in {@linkcode Lock.acquire}.
   *
   * @param options When to stop waiting; `timeout` in milliseconds.
   * @throws {TimeoutError} when the timeout has passed.
   * @throws {signal.reason} when the signal aborts.
   * @throws {QueueFullError} when `maxWaiting` calls are waiting already.
   * @throws {ClosedError} when `cancel()` has closed the lock before the call. A call that already waits rejects with
   *   the reason of `cancel()`.
   * @throws {TypeError} when an option has a wrong type.
   * @throws {RangeError} when `timeout` is NaN or negative.
   */
  override acquire(options?: WaitOptions): Promise<Guard> {
    return promiseTry(() => super.acquire(readWaitOptions(options, this.#timeout)));
  }
}
setClassName(TimeoutLock, "TimeoutLock"); // bundlers would change it
