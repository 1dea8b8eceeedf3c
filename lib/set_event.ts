/**
 * A set and a queue of callers that wait until it is empty. Invariant: no call waits while the set is empty.
 *
 * @module
 */
import { admit, checkNotPromise, isThenable, must, promiseTry, readName } from "./internal/check.ts";
import { follow } from "./internal/follow.ts";
import { printAs } from "./internal/show.ts";
import { exposeState } from "./internal/state.ts";
import { reportGrant, Waiter, WaitQueue, wake } from "./internal/wait_queue.ts";
import { describe, type WaitedFor } from "./internal/waited_for.ts";
import type { NameOptions, WaitOptions } from "./types.ts";

/**
 * A set whose waiters resume when it is empty, for example to wait until all connections are closed.
 *
 * Only its members decide whether it is set: it has no `set()` or `clear()`. To limit concurrency, use
 * {@linkcode Semaphore} or {@linkcode Pool}.
 *
 * Not meant to be extended: wrap it in a class of your own.
 *
 * @typeParam T The members; objects and promises by identity, as in a `Set`.
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
  readonly #target: WaitedFor;
  readonly #queue = new WaitQueue<void>();

  static {
    exposeState(SetEvent, (setEvent) => setEvent.#queue);
    printAs(SetEvent, "SetEvent", ["name", "size", "isSet", "waiting"]);
  }

  /**
   * Creates a set with these members.
   *
   * @param members The initial members. Default: none.
   * @param options A name for error messages and diagnostics.
   * @throws {TypeError} when `members` is not iterable, or the name is not a string.
   */
  constructor(members?: Iterable<T>, options?: NameOptions) {
    checkNotPromise(members, "members");
    const iterate = members === undefined || (members as Iterable<T> | null)?.[Symbol.iterator];
    must(iterate === true || typeof iterate === "function", "members", "be iterable", members);
    this.#target = describe("set-event", "wait for empty set", readName(options));
    this.#members = new Set(members);
  }

  /** The name shown in error messages and diagnostics. */
  get name(): string | undefined {
    return this.#target.name;
  }

  /** The number of members. */
  get size(): number {
    return this.#members.size;
  }

  /** Whether the set is empty. */
  get isSet(): boolean {
    return this.#members.size === 0;
  }

  /** The number of waiters. */
  get waiting(): number {
    return this.#queue.size;
  }

  /**
   * Adds `member`. Adding it again has no effect.
   *
   * @param member The member to add.
   */
  add(member: T): this {
    this.#members.add(member);
    return this;
  }

  /**
   * Removes `member`. If it was the last member, all waiters are released at once, even if the set is filled again
   * right after.
   *
   * @param member The member to remove.
   * @returns Whether it was a member.
   */
  delete(member: T): boolean {
    if (!this.#members.delete(member)) return false;
    if (this.#members.size === 0) wake(this.#queue, undefined);
    return true;
  }

  /**
   * Whether `member` is in the set.
   *
   * @param member The member to look for.
   */
  has(member: T): boolean {
    return this.#members.has(member);
  }

  /**
   * Makes `promise` a member until it settles. A rejection is left to the code that awaits the promise: the run-time
   * counts it as handled and does not report it.
   *
   * @param promise A member until it has settled.
   * @returns The same promise.
   * @throws {TypeError} when `promise` is not a promise.
   *
   * @example
   * ```ts
   * import { SetEvent } from "@interlock/interlock";
   *
   * const sending = new SetEvent<Promise<string>>();
   * const send = (text: string) => sending.track(Promise.resolve(text));
   * send("one");
   * console.log(await send("two")); // two
   * await sending.wait(); // until all have been sent
   * console.log(sending.size); // 0
   * ```
   */
  track<P extends T & PromiseLike<unknown>>(promise: P): P {
    must(isThenable(promise), "promise", "be a promise", promise);
    const leave = () => void this.delete(promise);
    follow(promise, leave, leave); // before adding it, because this may throw
    this.add(promise);
    return promise;
  }

  /** Iterates over the members in insertion order. */
  [Symbol.iterator](): IterableIterator<T, undefined> {
    return this.#members.values();
  }

  /**
   * Resolves as soon as the set is empty.
   *
   * **Fairness**: all waiters are released at once, and resume in the order of their calls.
   *
   * **Cancellation**: on abort or time-out the waiter leaves in O(1) without a trace.
   *
   * @param options When to stop waiting; `timeout` in milliseconds.
   * @throws {TimeoutError} when the timeout has passed.
   * @throws {signal.reason} when the signal aborts.
   * @throws {TypeError} when an option has a wrong type.
   * @throws {RangeError} when `timeout` is NaN or negative.
   */
  wait(options?: WaitOptions): Promise<void> {
    return promiseTry(() => {
      const limits = admit(options);
      const waiter = new Waiter<void>(this.#target);
      if (!this.isSet) return this.#queue.wait(waiter, limits);
      reportGrant(waiter);
      return Promise.resolve();
    });
  }
}
