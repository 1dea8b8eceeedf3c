/**
 * A flag and the queue of its waiters.
 *
 * @module
 */
import { admit, promised, readName } from "./internal/check.ts";
import { hook } from "./internal/hook.ts";
import { show } from "./internal/show.ts";
import { WaitQueue } from "./internal/wait_queue.ts";
import { describe, PlainWaiter, reportGrant, type WaitedFor } from "./internal/waiter.ts";
import type { NameOptions, WaitOptions } from "./types.ts";

/**
 * A flag with any number of waiters: `set` releases them all, and later calls return at once until `clear`.
 *
 * Not for waking one of several waiters (that is {@linkcode Condition}), nor for "until nothing is left" (that is
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
  /** The promise of the last waiter, if nothing can cancel it: later calls without options share it. */
  #last: Promise<void> | undefined = undefined;
  /** The number of waiters that share the promise of an earlier one, and are not in the queue. */
  #sharing = 0;
  readonly #self: WaitedFor;
  readonly #queue = new WaitQueue<void>();

  static {
    show(Event, ["name", "isSet", "waiting"]);
  }

  /**
   * An event that is not set.
   *
   * @param options Its name.
   * @throws {TypeError} when the name is not a string.
   */
  constructor(options?: NameOptions) {
    this.#self = describe("event", "wait for event", readName(options));
  }

  /** Its name, which error messages and diagnostics show. */
  get name(): string | undefined {
    return this.#self.name;
  }

  /** Whether the flag is set. */
  get isSet(): boolean {
    return this.#set;
  }

  /** The number of waiters. */
  get waiting(): number {
    return this.#queue.size + this.#sharing;
  }

  /** Sets the flag and releases all waiters, also when it is cleared right after. */
  set(): void {
    this.#set = true;
    this.#last = undefined;
    this.#sharing = 0;
    this.#queue.wakeAll();
  }

  /** Clears the flag. Waiters that were released stay released. */
  clear(): void {
    this.#set = false;
  }

  /**
   * Resolves as soon as the flag is set.
   *
   * **Fairness**: all waiters are released at once, and resume in the order of their calls.
   *
   * **Cancellation**: on abort or time-out the waiter leaves in O(1), and nothing of it is left.
   *
   * @param options When to stop waiting; `timeout` in milliseconds.
   * @throws {TimeoutError} when the time is over.
   * @throws {TypeError} for options of a wrong type.
   * @throws {RangeError} for a `timeout` that is NaN or negative.
   */
  wait(options?: WaitOptions): Promise<void> {
    if (options === undefined && this.#last !== undefined && hook === undefined) {
      this.#sharing++;
      return this.#last;
    }
    return promised(() => {
      const limits = admit(options);
      const waiter = new PlainWaiter<void>(this.#self);
      if (this.#set) {
        if (hook !== undefined) reportGrant(waiter);
        return Promise.resolve();
      }
      const granted = this.#queue.wait(waiter, limits);
      this.#last = limits === undefined ? granted : undefined;
      return granted;
    });
  }
}
