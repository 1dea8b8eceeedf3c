/**
 * A Lock and how long its waiters wait.
 *
 * @module
 */
import { checkTimeout, promised, readWaitOptions } from "./internal/check.ts";
import { Lock } from "./lock.ts";
import type { Guard, WaitOptions } from "./types.ts";

/**
 * A {@linkcode Lock} whose `acquire` gives up after a time unless told otherwise.
 *
 * Not for limiting how long somebody may *hold* it: a holder never expires. After any mix of time-outs and releases the
 * lock is free or held by a live holder.
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

  /**
   * A free lock.
   *
   * @param timeout Milliseconds that `acquire` and `run` wait when their own options say nothing.
   * @throws {TypeError} when `timeout` is not a number.
   * @throws {RangeError} when it is NaN or negative.
   */
  constructor(timeout: number) {
    checkTimeout(timeout);
    super();
    this.#timeout = timeout;
  }

  /**
   * Waits for the lock, for the lock's own time unless `options.timeout` says otherwise (`Infinity`: for ever).
   *
   * **Fairness** and **Cancellation** as in {@linkcode Lock.acquire}.
   *
   * @throws {TimeoutError} when the time is over.
   * @throws {TypeError} for options of a wrong type.
   * @throws {RangeError} for a `timeout` that is NaN or negative.
   */
  override acquire(options?: WaitOptions): Promise<Guard> {
    return promised(() => {
      return super.acquire(readWaitOptions(options, this.#timeout));
    });
  }
}
