/**
 * The slots of one pool and the queue for them. A function starts when a slot is free and, in a pool with a rate, when
 * the rate limiter allows a start as well.
 *
 * @module
 */
import type { WaitLimits } from "../internal/check.ts";
import { hook, type Resource } from "../internal/hook.ts";
import { WaitQueue } from "../internal/wait_queue.ts";
import { grant, PlainWaiter, reject, reportGrant, type WaitedFor } from "../internal/waiter.ts";
import { joinRateLimiter, type RateLimiter, startSoon } from "../rate_limiter.ts";

/** A way to use a slot: the resource that is reported, the operation in messages, and its needs. */
export interface SlotUse extends WaitedFor, Resource {
  readonly kind: string;
  /** Whether it needs a start as well: a map first pulls an item in a slot, without one. */
  readonly needsStart: boolean;
}

/** One use of a slot, from its wait to its end. Once it has its slot, `registration` links the caller's signal to `controller`. */
export class SlotCall extends PlainWaiter<void> {
  declare readonly waitsFor: SlotUse;
  readonly limits: WaitLimits | undefined;
  /** Of the function's own signal, if it has one. */
  controller: AbortController | undefined = undefined;

  constructor(waitsFor: SlotUse, limits: WaitLimits | undefined) {
    super(waitsFor);
    this.limits = limits;
  }
}

export class Slots {
  // #queue.size > 0 implies that no slot is free, or that the first call waits for its start; exactly then #stopWaiting
  // is there.
  #limit: number;
  #active = 0;
  #stopWaiting: (() => void) | undefined;
  readonly rate: RateLimiter | undefined;
  readonly #queue: WaitQueue<void, SlotCall>;

  /** @param onLeave Called after cancelled calls have left the queue. */
  constructor(limit: number, rate: RateLimiter | undefined, onLeave: () => void) {
    this.#limit = limit;
    this.rate = rate;
    this.#queue = new WaitQueue({
      afterLeave: () => {
        this.#serve();
        onLeave();
      },
    });
  }

  get limit(): number {
    return this.#limit;
  }

  set limit(limit: number) {
    this.#limit = limit;
    this.#serve();
  }

  get active(): number {
    return this.#active;
  }

  get waiting(): number {
    return this.#queue.size;
  }

  /** Takes a slot, and a start if the call needs one, unless it has to wait. */
  tryTake(call: SlotCall): boolean {
    if (this.#active >= this.#limit || this.#queue.size > 0) return false;
    if (this.rate !== undefined && call.waitsFor.needsStart && !startSoon(this.rate)) return false;
    this.#active++;
    if (hook !== undefined) reportGrant(call);
    return true;
  }

  /** Waits for what {@linkcode Slots.tryTake} did not get. Options are checked by now. */
  wait(call: SlotCall): Promise<void> {
    const granted = this.#queue.wait(call, call.limits);
    if (this.#stopWaiting === undefined && this.rate !== undefined) this.#serve();
    return granted;
  }

  /** Frees the slot of `call`. */
  free(call: SlotCall): void {
    this.#active--;
    if (hook !== undefined) hook.release(call.waitsFor, call);
    if (this.#queue.size > 0) this.#serve();
  }

  /** Rejects all queued calls. */
  rejectQueued(reason: unknown): void {
    this.#queue.drainWith((call) => reject(call, reason));
    this.#serve();
  }

  /** Grants slots while there are both calls and slots, and starts for those that need one. */
  #serve(hasStart = false): void {
    let next: SlotCall | undefined;
    while (this.#active < this.#limit && (next = this.#queue.peek()) !== undefined) {
      if (this.rate !== undefined && next.waitsFor.needsStart && !hasStart && !startSoon(this.rate)) {
        return this.#waitForStart(this.rate);
      }
      hasStart = false;
      this.#queue.shift(next);
      this.#active++;
      grant(next, undefined);
    }
    // Without a call that could use it, no start is waited for: it would be lost.
    this.#stopWaiting?.();
    this.#stopWaiting = undefined;
  }

  #waitForStart(rate: RateLimiter): void {
    this.#stopWaiting ??= joinRateLimiter(rate, () => {
      this.#stopWaiting = undefined;
      this.#serve(true);
    });
  }
}
