/**
 * A number of parties and the queue of those that have arrived.
 *
 * @module
 */
import { checkInteger, promiseTry, readName, readWaitOptions, throwIfAborted } from "./internal/check.ts";
import { step } from "./internal/hook.ts";
import { printAs } from "./internal/show.ts";
import { exposeState } from "./internal/state.ts";
import { grant, reject, reportGrant, Waiter, waitersOf, WaitQueue } from "./internal/wait_queue.ts";
import { cannot, describe, type WaitedFor } from "./internal/waited_for.ts";
import { nameError, SyncError } from "./errors.ts";
import type { NameOptions, WaitOptions } from "./types.ts";

/** The barrier was reset or aborted during the wait, or is still broken. */
export class BrokenBarrierError extends SyncError {}
nameError(BrokenBarrierError, "BrokenBarrierError");

/**
 * Makes a number of parties wait until all of them have arrived. It can be reused at once for the next round.
 *
 * To wait until jobs have ended, use {@linkcode SetEvent} or `Promise.all`.
 *
 * Not meant to be extended: wrap it in a class of your own.
 *
 * @example
 * ```ts
 * import { Barrier } from "@interlock/interlock";
 *
 * const barrier = new Barrier(3);
 * const worker = async () => {
 *   const index = await barrier.wait();
 *   if (index === 0) console.log("all have arrived"); // all have arrived (once)
 * };
 * await Promise.all([worker(), worker(), worker()]);
 * ```
 */
export class Barrier {
  // #queue.size < #parties; #broken implies #queue.size === 0
  readonly #parties: number;
  readonly #target: WaitedFor;
  readonly #queue = new WaitQueue<number>();
  #broken = false;

  static {
    exposeState(Barrier, (barrier) => barrier.#queue);
    printAs(Barrier, "Barrier", ["name", "parties", "waiting", "broken"]);
  }

  /**
   * Creates a barrier for `parties` calls that wait for each other.
   *
   * @param parties How many calls of `wait` make a round, 1 or more.
   * @param options A name for error messages and diagnostics.
   * @throws {TypeError} when `parties` is not a number, or the name is not a string.
   * @throws {RangeError} when `parties` is not a whole number of 1 or more.
   */
  constructor(parties: number, options?: NameOptions) {
    checkInteger(parties, "parties", 1);
    this.#parties = parties;
    this.#target = describe("barrier", "wait at barrier", readName(options));
  }

  /** The name shown in error messages and diagnostics. */
  get name(): string | undefined {
    return this.#target.name;
  }

  /** How many calls of `wait` make a round. */
  get parties(): number {
    return this.#parties;
  }

  /** The number of parties that have arrived and wait. */
  get waiting(): number {
    return this.#queue.size;
  }

  /** Whether the barrier was aborted and has not been reset. */
  get broken(): boolean {
    return this.#broken;
  }

  /**
   * Waits until all parties have arrived. Each call resolves to a different index from 0 to `parties` - 1; the last
   * call to arrive gets the highest index.
   *
   * **Fairness**: all parties are released at once, and resume in the order of their calls; a later call belongs to the
   * next round.
   *
   * **Cancellation**: a cancelled party no longer counts, and does not break the barrier (as in asyncio, unlike in
   * Python's threading and in Java). `timeout: 0` resolves only for the last party.
   *
   * @param options When to stop waiting; `timeout` in milliseconds.
   * @throws {BrokenBarrierError} when the barrier is broken, or is reset or aborted during the wait.
   * @throws {TimeoutError} when the timeout has passed.
   * @throws {signal.reason} when the signal aborts.
   * @throws {TypeError} when an option has a wrong type.
   * @throws {RangeError} when `timeout` is NaN or negative.
   *
   * @example
   * ```ts
   * import { Barrier } from "@interlock/interlock";
   *
   * const phase = new Barrier(2);
   * const parts: string[] = [];
   * const worker = async (name: string) => {
   *   parts.push(name);
   *   await phase.wait(); // until both have added their part
   *   return parts.join();
   * };
   * const both = await Promise.all([worker("a"), worker("b")]);
   * console.log(both); // [ 'a,b', 'a,b' ]
   * ```
   */
  wait(options?: WaitOptions): Promise<number> {
    return promiseTry(() => {
      const limits = readWaitOptions(options);
      if (this.#broken) throw new BrokenBarrierError(`${cannot(this.#target)}: barrier is broken`);
      throwIfAborted(limits);
      const party = new Waiter<number>(this.#target);
      // A waiter with an aborted signal does not count, even before the signal notifies its listeners.
      if (this.#isNextLast()) {
        for (const { cancellation } of waitersOf(this.#queue)) if (cancellation?.isAborted) cancellation.abort();
      }
      if (!this.#isNextLast()) return this.#queue.wait(party, limits);
      return Promise.resolve(this.#trip(party));
    });
  }

  /** Rejects all waiting parties with a {@linkcode BrokenBarrierError}, and starts a new round, even after `abort`. */
  reset(): void {
    this.#broken = false;
    this.#rejectAll("barrier was reset");
  }

  /** Rejects all waiting parties with a {@linkcode BrokenBarrierError}, and all later calls until `reset`. */
  abort(): void {
    this.#broken = true;
    this.#rejectAll("barrier was aborted");
  }

  /** Whether the next party is the last. */
  #isNextLast(): boolean {
    return this.#queue.size + 1 === this.#parties;
  }

  /** Releases all waiting parties, and returns the index of the last party, which does not wait. */
  #trip(last: Waiter<number>): number {
    const parties = this.#queue.takeAll();
    step(() => {
      parties.forEach(grant);
      reportGrant(last);
    });
    return parties.length;
  }

  #rejectAll(state: string): void {
    step(() => {
      for (const party of this.#queue.takeAll()) {
        reject(party, new BrokenBarrierError(`${cannot(this.#target)}: ${state}`));
      }
    });
  }
}
