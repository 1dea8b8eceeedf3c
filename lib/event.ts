/**
 * A flag and those who wait for it.
 *
 * @module
 */
import { admit, promised } from "./internal/check.ts";
import { hook } from "./internal/hook.ts";
import { WaitQueue } from "./internal/wait_queue.ts";
import { describe, PlainWaiter, reportGrant } from "./internal/waiter.ts";
import type { WaitOptions } from "./types.ts";

/**
 * A flag that many can wait for: `set` lets everybody go who waits, and everybody who comes until `clear`.
 *
 * Not for waking one of several (that is {@linkcode Condition}), nor for "until nothing is left" (that is
 * {@linkcode SetEvent}).
 *
 * @example
 * ```ts
 * import { Event } from "@interlock/interlock";
 *
 * const ready = new Event();
 * setTimeout(() => ready.set());
 * await ready.wait();
 * console.log(ready.isSet); // true
 * ```
 */
export class Event {
  // #set implies #queue.size === 0
  #set = false;
  readonly #self = describe("event", "wait for event");
  readonly #queue = new WaitQueue<void>();

  /** Whether the flag is set. */
  get isSet(): boolean {
    return this.#set;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#queue.size;
  }

  /** Sets the flag and lets everybody go who waits, also if it is cleared again right after. */
  set(): void {
    this.#set = true;
    this.#queue.wakeAll();
  }

  /** Takes the flag down. Those who were let go stay so. */
  clear(): void {
    this.#set = false;
  }

  /**
   * Resolves as soon as the flag is set.
   *
   * **Fairness**: all go at once, and resume in the order in which they came.
   *
   * **Cancellation**: on abort or time-out the waiter leaves in O(1) and nothing of it is left.
   *
   * @param options When to give up; `timeout` in milliseconds.
   * @throws {TimeoutError} when the time is over.
   * @throws {TypeError} for options of a wrong type.
   * @throws {RangeError} for a `timeout` that is NaN or negative.
   */
  wait(options?: WaitOptions): Promise<void> {
    return promised(() => {
      const limits = admit(options);
      const waiter = new PlainWaiter<void>(this.#self);
      if (!this.#set) return this.#queue.wait(waiter, limits);
      if (hook !== undefined) reportGrant(waiter);
      return Promise.resolve();
    });
  }
}
