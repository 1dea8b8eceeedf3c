/**
 * A flag and the queue of its waiters. Invariant: no call waits while the flag is set.
 *
 * @module
 */
import { admit, promiseTry, readName } from "./internal/check.ts";
import { needsOnlyPromise } from "./internal/hook.ts";
import { printAs } from "./internal/show.ts";
import { exposeState } from "./internal/state.ts";
import { closeQueues, reportGrant, Waiter, WaitQueue, wake } from "./internal/wait_queue.ts";
import { describe, type WaitedFor } from "./internal/waited_for.ts";
import type { NameOptions, WaitOptions } from "./types.ts";

/**
 * A flag with any number of waiters: `set` releases them all, and later calls return at once until `clear`.
 *
 * To wake one of several waiters, use {@linkcode Condition}. To wait until a set is empty, use {@linkcode SetEvent}.
 *
 * Not meant to be extended: wrap it in a class of your own.
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
  // #isSet implies #queue.size === 0; #last !== undefined implies that its waiter is the last in the queue
  #isSet = false;
  /** The promise of the last waiter if nothing can cancel it; later calls without options share it. */
  #last: Promise<void> | undefined;
  /** The number of waiters that share an earlier waiter's promise and are not in the queue. */
  #sharing = 0;
  readonly #target: WaitedFor;
  readonly #queue = new WaitQueue<void>();

  static {
    exposeState(Event, (event) => [event.#queue, event.#last, event.#sharing]);
    printAs(Event, "Event", ["name", "isSet", "waiting", "closed"]);
  }

  /**
   * Creates an event that is not set.
   *
   * @param options A name for error messages and diagnostics.
   * @throws {TypeError} when the name is not a string.
   */
  constructor(options?: NameOptions) {
    this.#target = describe("event", "wait for event", readName(options));
  }

  /** The name shown in error messages and diagnostics. */
  get name(): string | undefined {
    return this.#target.name;
  }

  /** Whether the flag is set. */
  get isSet(): boolean {
    return this.#isSet;
  }

  /** The number of waiters. */
  get waiting(): number {
    return this.#queue.size + this.#sharing;
  }

  /** Whether `cancel()` has closed the event. */
  get closed(): boolean {
    return this.#queue.closed;
  }

  /** Sets the flag and releases all waiters, even if it is cleared right after. */
  set(): void {
    this.#isSet = true;
    this.#last = undefined;
    this.#sharing = 0;
    wake(this.#queue, undefined);
  }

  /** Clears the flag. Waiters that were released stay released. */
  clear(): void {
    this.#isSet = false;
  }

  /**
   * Resolves as soon as the flag is set.
   *
   * **Fairness**: all waiters are released at once, and resume in the order of their calls.
   *
   * **Cancellation**: on abort or time-out the waiter leaves in O(1) without a trace.
   *
   * @param options When to stop waiting; `timeout` in milliseconds.
   * @throws {TimeoutError} when the timeout has passed.
   * @throws {signal.reason} when the signal aborts.
   * @throws {ClosedError} when `cancel()` has closed the event before the call, even if the flag is set. A call that
   *   already waits rejects with the reason of `cancel()`.
   * @throws {TypeError} when an option has a wrong type.
   * @throws {RangeError} when `timeout` is NaN or negative.
   *
   * @example
   * ```ts
   * import { Event } from "@interlock/interlock";
   *
   * const ready = new Event();
   * await ready.wait({ timeout: 5 }).catch(({ name }) => {
   *   console.log(name); // TimeoutError
   * });
   * ready.set();
   * await ready.wait(); // resolves at once
   * ```
   */
  wait(options?: WaitOptions): Promise<void> {
    if (options === undefined && this.#last !== undefined && needsOnlyPromise) {
      this.#sharing++;
      return this.#last;
    }
    return promiseTry(() => {
      const limits = admit(options, this.#queue, this.#target);
      const waiter = new Waiter<void>(this.#target);
      if (!this.#isSet) {
        const isShared = limits === undefined && needsOnlyPromise; // an observer of the wait may set the flag, and stop observing
        const granted = this.#queue.wait(waiter, limits);
        this.#last = isShared ? granted : undefined;
        return granted;
      }
      reportGrant(waiter);
      return Promise.resolve();
    });
  }

  /**
   * Closes the event for good: all waiters reject with `reason`, in order and in one step, and later calls of `wait`
   * with a {@linkcode ClosedError}. The flag stays as it is. Cancelling again has no effect.
   *
   * @param reason Default: an AbortError.
   */
  cancel(reason?: unknown): void {
    this.#last = undefined;
    this.#sharing = 0;
    closeQueues([this.#queue], reason);
  }
}
