/**
 * A Lock with a time-out of its own.
 *
 * @module
 */
import { checkTimeout, promised, readWaitOptions } from "./internal/check.ts";
import { nameClass } from "./internal/class_name.ts";
import { Lock } from "./lock.ts";
import type { Guard, MaxWaitingOptions, WaitOptions } from "./types.ts";

/**
 * A {@linkcode Lock} whose `acquire` times out after a fixed time, unless the call gives another one.
 *
 * Not for limiting how long it may be *held*: a hold never expires. After any mix of time-outs and releases the lock is
 * free or held by a live holder.
 *
 * Not meant to be extended: guards, `run` and `acquireAll` may pass by what a subclass overrides. Wrap it in a class of your
 * own.
 *
 * @example
 * ```ts
 * import { TimeoutError, TimeoutLock } from "@interlock/interlock";
 *
 * const lock = new TimeoutLock(20);
 * using _ = await lock.acquire();
 * await lock.acquire().catch((error) => console.log(error instanceof TimeoutError)); // true
 * ```
 */
export class TimeoutLock extends Lock {
  readonly #timeout: number;

  static {
    nameClass(TimeoutLock, "TimeoutLock");
  }

  /**
   * An unlocked lock whose `acquire` times out after `timeout` milliseconds.
   *
   * @param timeout Milliseconds after which `acquire` and `run` time out. `Infinity`: never.
   * @param options Its name, and how many calls may wait.
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
   * Waits for the lock, at most for the lock's own time, or for `options.timeout` if there is one (`Infinity`:
   * indefinitely).
   *
   * **Fairness** and **Cancellation** as in {@linkcode Lock.acquire}.
   *
   * @param options When to stop waiting; `timeout` in milliseconds.
   * @throws {TimeoutError} when the time is over.
   * @throws {QueueFullError} when `maxWaiting` calls are waiting already.
   * @throws {ClosedError} when it was cancelled.
   * @throws {TypeError} for options of a wrong type.
   * @throws {RangeError} for a `timeout` that is NaN or negative.
   */
  override acquire(options?: WaitOptions): Promise<Guard> {
    return promised(() => super.acquire(readWaitOptions(options, this.#timeout)));
  }
}
