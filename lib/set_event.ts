/**
 * A set and those who wait for it to be empty.
 *
 * @module
 */
import { admit, isThenable, must, promised } from "./internal/check.ts";
import { hook } from "./internal/hook.ts";
import { WaitQueue } from "./internal/wait_queue.ts";
import { describe, PlainWaiter, reportGrant } from "./internal/waiter.ts";
import type { WaitOptions } from "./types.ts";

/**
 * A set that can be waited for: it is open while it is empty, and a new one is. For "wait until all connections are
 * closed".
 *
 * The tie between the set and the event cannot be broken: there is no `set()` and no `clear()`. Not for limiting how many
 * run (that is {@linkcode Semaphore} or {@linkcode Pool}).
 *
 * @typeParam T What the members are; objects and promises by identity, as in a `Set`.
 * @example
 * ```ts
 * import { SetEvent } from "@interlock/interlock";
 *
 * const busy = new SetEvent<Promise<unknown>>();
 * busy.track(new Promise((done) => setTimeout(done, 5)));
 * console.log(busy.size); // 1
 * await busy.wait({ timeout: 1000 });
 * console.log(busy.size, busy.isSet); // 0 true
 * ```
 */
export class SetEvent<T = unknown> implements Iterable<T> {
  // #queue.size > 0 implies #members.size > 0
  readonly #members: Set<T>;
  readonly #self = describe("set-event", "wait for empty set");
  readonly #queue = new WaitQueue<void>();

  /**
   * A set with these members; open if there are none.
   *
   * @param members What is in it from the start.
   * @throws {TypeError} when `members` is not iterable.
   */
  constructor(members?: Iterable<T>) {
    const iterate = members === undefined || (members as Iterable<T> | null)?.[Symbol.iterator];
    must(iterate === true || typeof iterate === "function", "members", "be iterable", members);
    this.#members = new Set(members);
  }

  /** How many members there are. */
  get size(): number {
    return this.#members.size;
  }

  /** Whether it is open: it has no members. */
  get isSet(): boolean {
    return this.#members.size === 0;
  }

  /** How many wait for it to be empty. */
  get waiting(): number {
    return this.#queue.size;
  }

  /** Makes `member` a member; adding it again changes nothing. */
  add(member: T): this {
    this.#members.add(member);
    return this;
  }

  /**
   * Removes `member`. If it was the last one, those who wait go at this moment, also if the set is filled again right
   * after.
   *
   * @returns Whether it was a member. Removing what is not one is not an error.
   */
  delete(member: T): boolean {
    if (!this.#members.delete(member)) return false;
    if (this.#members.size === 0) this.#queue.wakeAll();
    return true;
  }

  /** Whether `member` is in it. */
  has(member: T): boolean {
    return this.#members.has(member);
  }

  /**
   * Makes `promise` a member until it settles, either way. A rejection stays the business of who awaits the promise;
   * it is handled in the sense of the run-time, which will not report it if nobody does.
   *
   * @returns The same promise.
   * @throws {TypeError} when it is not a promise.
   */
  track<P extends T & PromiseLike<unknown>>(promise: P): P {
    must(isThenable(promise), "promise", "be a promise", promise);
    this.add(promise);
    const drop = () => void this.delete(promise);
    Promise.resolve(promise).then(drop, drop); // a `then` that throws counts as a rejection
    return promise;
  }

  /** The members, in the order in which they were added. */
  [Symbol.iterator](): IterableIterator<T, undefined> {
    return this.#members.values();
  }

  /**
   * Resolves as soon as the set is empty.
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
      if (!this.isSet) return this.#queue.wait(waiter, limits);
      if (hook !== undefined) reportGrant(waiter);
      return Promise.resolve();
    });
  }
}
