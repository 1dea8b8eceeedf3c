/**
 * A number of parties and a line of those who are here already.
 *
 * @module
 */
import { checkInteger, promised, readWaitOptions, throwIfAborted } from "./internal/check.ts";
import { hook } from "./internal/hook.ts";
import { WaitQueue } from "./internal/wait_queue.ts";
import { describe, grant, PlainWaiter, reject, reportGrant } from "./internal/waiter.ts";
import { BrokenBarrierError } from "./errors.ts";
import type { WaitOptions } from "./types.ts";

/**
 * A meeting point: nobody goes on before all parties are here. It can be used again at once, for the next round.
 *
 * Not for waiting until jobs have ended: that is {@linkcode SetEvent} or `Promise.all`.
 *
 * @example
 * ```ts
 * import { Barrier } from "@interlock/interlock";
 *
 * const barrier = new Barrier(3);
 * const worker = async () => {
 *   const index = await barrier.wait();
 *   if (index === 0) console.log("everybody is here"); // everybody is here (once)
 * };
 * await Promise.all([worker(), worker(), worker()]);
 * ```
 */
export class Barrier {
  // #queue.size < #parties; #broken implies #queue.size === 0
  readonly #parties: number;
  readonly #self = describe("barrier", "wait at barrier");
  readonly #queue = new WaitQueue<number>();
  #broken = false;

  /**
   * A barrier with nobody at it.
   *
   * @param parties How many have to be here, from 1 up.
   * @throws {TypeError} when `parties` is not a number.
   * @throws {RangeError} when it is not a whole number from 1 up.
   */
  constructor(parties: number) {
    checkInteger(parties, "parties", 1);
    this.#parties = parties;
  }

  /** How many have to be here. */
  get parties(): number {
    return this.#parties;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#queue.size;
  }

  /** Whether it was aborted and not reset since. */
  get broken(): boolean {
    return this.#broken;
  }

  /**
   * Waits until all parties are here. Each is told another number, from 0 to `parties` - 1; the last to come gets the
   * last one.
   *
   * **Fairness**: all go at once, and resume in the order in which they came; who comes after the last one belongs to the
   * next round.
   *
   * **Cancellation**: who gives up is not counted any more, and the barrier is not broken by it (as in asyncio, unlike
   * in Python's threading and in Java). `timeout: 0` passes only for the last party.
   *
   * @param options When to give up; `timeout` in milliseconds.
   * @throws {BrokenBarrierError} when it is broken, or is reset or aborted meanwhile.
   * @throws {TimeoutError} when the time is over.
   * @throws {TypeError} for options of a wrong type.
   * @throws {RangeError} for a `timeout` that is NaN or negative.
   */
  wait(options?: WaitOptions): Promise<number> {
    return promised(() => {
      const limits = readWaitOptions(options);
      if (this.#broken) throw brokenBy("barrier is broken");
      throwIfAborted(limits);
      const party = new PlainWaiter<number>(this.#self);
      // A waiter whose signal is aborted but has not notified its listeners yet does not count.
      if (this.#complete) { for (const other of this.#queue.waiters()) other.registration?.cancelIfAborted(); }
      if (!this.#complete) return this.#queue.wait(party, limits);
      const index = this.#trip();
      if (hook !== undefined) reportGrant(party);
      return Promise.resolve(index);
    });
  }

  /** Sends away with a {@linkcode BrokenBarrierError} who waits, and starts anew: after `abort`, too. */
  reset(): void {
    this.#sendAway("barrier was reset");
    this.#broken = false;
  }

  /** Sends away with a {@linkcode BrokenBarrierError} who waits and, until `reset`, who comes. */
  abort(): void {
    this.#sendAway("barrier was aborted");
    this.#broken = true;
  }

  /** Whether the next one is the last. */
  get #complete(): boolean {
    return this.#queue.size + 1 === this.#parties;
  }

  /** Lets everybody go who waits; returns the index of the one who came last. */
  #trip(): number {
    let index = 0;
    this.#queue.drainWith((party) => grant(party, index++));
    return index;
  }

  #sendAway(state: string): void {
    this.#queue.drainWith((party) => reject(party, brokenBy(state)));
  }
}

function brokenBy(state: string): BrokenBarrierError {
  return new BrokenBarrierError(`Cannot wait at barrier: ${state}`);
}
