/**
 * The slots of one pool and the queue for them. A function needs a free slot to start and, in a pool with a rate, a
 * start from the rate limiter.
 *
 * @module
 */
import type { QueueToServe } from "../internal/cancellation.ts";
import { hook, step } from "../internal/hook.ts";
import { timersEndWithRequest } from "../internal/platform.ts";
import type { Starts } from "../internal/budgets.ts";
import { type StartQueue, StartWaiter } from "../internal/start_queue.ts";
import { grant, reject, remove, reportGrant } from "../internal/wait_queue.ts";
import type { Call } from "./call.ts";
import { CallQueue } from "./call_queue.ts";

export class Slots implements QueueToServe {
  // queue.size > 0 implies that no slot is free or that the first call waits for its start.
  /** The number of slots taken. */
  active = 0;
  /** Later calls may get slots when it changes: call {@linkcode Slots.serve} then. */
  limit: number;
  readonly rate: StartQueue | undefined;
  readonly #onServed: () => void;
  readonly queue = new CallQueue(this);
  /** Set exactly while the first call waits for its starts in the queue of the rate limiter. */
  startWaiter: StartWaiter | undefined;

  /** @param onServed Called after slots became free or calls left the queue, unless a call waits for its start. */
  constructor(limit: number, rate: StartQueue | undefined, onServed: () => void) {
    this.limit = limit;
    this.rate = rate;
    this.#onServed = onServed;
  }

  /** Takes a slot and, in a pool with a rate, the call's starts, unless the call has to wait. */
  tryTake(call: Call): boolean {
    if (this.active >= this.limit || this.queue.peek() !== undefined) return false;
    return this.rate === undefined ? this.#occupy(call) : this.#tryStart(call);
  }

  /**
   * An observer of the start that calls the pool finds the slot taken. A method of its own: a closure would slow down
   * every call.
   */
  #tryStart(call: Call): boolean {
    return step(() => this.rate!.tryStart(startsOf(call, this.rate!)) && this.#occupy(call));
  }

  /** Takes a free slot. */
  #occupy(call: Call): true {
    this.active++;
    if (hook !== undefined) reportGrant(call);
    return true;
  }

  /** Waits for what {@linkcode Slots.tryTake} did not get. */
  wait(call: Call): Promise<void> {
    const granted = this.queue.wait(call, call.options);
    if (this.rate !== undefined) {
      this.serve(); // the call may be the first one now
      if (timersEndWithRequest) this.rate.serveWhileQueued(call);
    }
    return granted;
  }

  /** Frees the slot of a call. */
  free(call: Call): void {
    this.active--;
    if (hook === undefined) return this.queue.size > 0 ? this.serve() : this.#onServed();
    hook.step(() => {
      hook?.release(call.target, call);
      this.serve();
    });
  }

  /** Removes all queued calls, then rejects them in the order of service. */
  rejectQueued(reason: unknown): void {
    step(() => {
      for (const call of this.queue.takeAll()) reject(call, reason);
      this.serve(); // ends the wait for a start
    });
  }

  /**
   * Grants slots while there are calls, slots and, in a pool with a rate, starts. After cancelled calls have left or
   * the limit has changed, later calls may get slots.
   */
  serve(): void {
    for (let first; this.active < this.limit && (first = this.queue.peek()) !== undefined;) {
      if (this.rate !== undefined) {
        const { closedWith } = this.rate.waiters;
        if (closedWith !== undefined) return this.rejectQueued(closedWith.reason); // the rate limiter was cancelled
        const starts = startsOf(first, this.rate);
        if (!this.rate.tryStart(starts)) return this.#waitForStart(this.rate, starts);
      }
      this.#grantFirst(); // grants a later call if an observer of the start has cancelled the first
    }
    this.#leaveRateQueue(); // no call could use a start: it would be lost
    this.#onServed();
  }

  /** Waits for the starts of the first call. Another call may need a different number. */
  #waitForStart(rate: StartQueue, starts: Starts): void {
    if (this.startWaiter?.starts.every((each, i) => each === starts[i])) return;
    this.#leaveRateQueue();
    this.startWaiter = new StartWaiter(rate.target, starts);
    rate.waiters.join(this.startWaiter, (rejection) => {
      this.startWaiter = undefined;
      // Undefined: the starts were granted.
      if (rejection === undefined && this.active < this.limit) this.#grantFirst();
      this.serve();
    });
    rate.setTimer();
  }

  /** Grants a slot to the first call, if any is left. */
  #grantFirst(): void {
    const call = this.queue.take();
    if (call === undefined) return;
    this.active++;
    grant(call, undefined);
  }

  /** Leaves the queue of the rate limiter, where later waiters may start now. */
  #leaveRateQueue(): void {
    const waiter = this.startWaiter;
    this.startWaiter = undefined;
    if (waiter !== undefined && remove(this.rate!.waiters, waiter)) this.rate!.serve();
  }
}

function startsOf({ options }: Call, rate: StartQueue): Starts {
  return options?.starts ?? rate.budgets.oneOfEach;
}
