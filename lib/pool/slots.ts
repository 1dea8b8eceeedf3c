/**
 * The slots of one pool and the queue for them. A function needs a free slot to start and, in a pool with a rate, a
 * start from the rate limiter.
 *
 * @module
 */
import type { Served } from "../internal/cancellation.ts";
import { hook, step } from "../internal/hook.ts";
import { timersEndWithRequest } from "../internal/platform.ts";
import type { Permits, StartQueue } from "../internal/start_queue.ts";
import { assertSoundWaitQueue, grant, reject, rejectAll, reportGrant, WaitQueue } from "../internal/wait_queue.ts";
import { type Call, PriorityCall } from "./call.ts";
import { assertSoundPriorityQueue, PriorityQueue } from "./priority_queue.ts";

/** Private state for {@linkcode assertSoundSlots}, a function rather than a method so that bundlers can drop it. */
let stateOf: (
  slots: Slots,
) => readonly [plain: WaitQueue<void, Call>, priorities: PriorityQueue, waitsForStart: boolean];

export class Slots implements Served {
  // waiting > 0 implies that no slot is free or that the first call waits for its start. #leaveRate is set exactly
  // while the first call waits for its start.
  active = 0;
  readonly rate: StartQueue | undefined;
  #limit: number;
  readonly #onLeave: () => void;
  /** The calls of priority 0, and all other calls. */
  readonly #plain = new WaitQueue<void, Call>(this);
  readonly #priorities = new PriorityQueue(this);
  /** Leaves the queue of the rate limiter, in which the first call waits for its starts. */
  #leaveRate: (() => void) | undefined;
  #awaited: Permits = 1;

  static {
    stateOf = (slots) => [slots.#plain, slots.#priorities, slots.#leaveRate !== undefined];
  }

  /** @param onLeave Called after calls have left the queue without a slot. */
  constructor(limit: number, rate: StartQueue | undefined, onLeave: () => void) {
    this.#limit = limit;
    this.rate = rate;
    this.#onLeave = onLeave;
  }

  get limit(): number {
    return this.#limit;
  }

  set limit(limit: number) {
    this.#limit = limit;
    step(() => this.#serve());
  }

  /** Whether the next call waits for a slot, rather than for a start or for the end of a pause. */
  get isFull(): boolean {
    return this.#limit > 0 && this.active >= this.#limit;
  }

  /** How many calls wait. */
  get waiting(): number {
    return this.#plain.size + this.#priorities.size;
  }

  /** Takes a slot and, in a pool with a rate, the call's starts, unless the call has to wait. */
  tryTake(call: Call): boolean {
    if (this.active >= this.#limit || this.#first() !== undefined) return false;
    if (this.rate !== undefined && !this.rate.tryStart(startsOf(call))) return false;
    this.active++;
    if (hook !== undefined) reportGrant(call);
    return true;
  }

  /** Waits for what {@linkcode Slots.tryTake} did not get. */
  wait(call: Call): Promise<void> {
    const granted = call instanceof PriorityCall
      ? this.#priorities.wait(call, call.terms)
      : this.#plain.wait(call, call.terms);
    if (this.rate !== undefined) {
      this.#serve(); // the call may be the first one now
      if (timersEndWithRequest) this.rate.serveAlong(call);
    }
    return granted;
  }

  /** Frees the slot of a call. */
  free(call: Call): void {
    this.active--;
    if (hook === undefined) return this.#serve();
    hook.step(() => {
      hook?.release(call.target, call);
      this.#serve();
    });
  }

  /** Removes all queued calls, then rejects them in the order of service. */
  rejectQueued(reason: unknown): void {
    const calls: Call[] = [];
    for (let call; (call = this.#take()) !== undefined;) calls.push(call);
    rejectAll(calls, reason);
    this.#serve();
  }

  /** After cancelled calls have left, a later call may be first, and the pool may be idle. */
  afterLeave(): void {
    this.#serve();
    this.#onLeave();
  }

  /** The call that is next. Observers of a call that is found aborted may change the queues. */
  #first(): Call | undefined {
    const first = this.#priorities.size > 0 ? this.#priorities.peek() : undefined; // most pools have no priorities
    return first !== undefined && first.priority > 0 ? first : this.#plain.peek() ?? this.#priorities.peek();
  }

  /** Removes the call that is next. */
  #take(): Call | undefined {
    const call = this.#first();
    if (call instanceof PriorityCall) this.#priorities.unlink(call);
    else if (call !== undefined) this.#plain.unlink(call);
    return call;
  }

  /** Grants slots while there are calls, slots and, in a pool with a rate, starts. */
  #serve(hasStart = false): void {
    for (let first; this.active < this.#limit && (first = this.#first()) !== undefined; hasStart = false) {
      if (this.rate !== undefined && !hasStart) {
        const { end } = this.rate.waits;
        if (end !== undefined) {
          reject(this.#take()!, end.reason);
          continue;
        }
        if (!this.rate.tryStart(startsOf(first))) return this.#waitForStart(this.rate, startsOf(first));
      }
      const call = this.#take(); // another one if an observer of the start has cancelled the first
      if (call === undefined) break;
      this.active++;
      grant(call, undefined);
    }
    // Stop waiting for a start if no call could use it: it would be lost.
    const leave = this.#leaveRate;
    this.#leaveRate = undefined;
    leave?.();
  }

  /** Waits for the starts of the first call. Another call may need a different number. */
  #waitForStart(rate: StartQueue, starts: Permits): void {
    if (this.#leaveRate !== undefined && this.#awaited === starts) return;
    this.#leaveRate?.();
    this.#awaited = starts;
    this.#leaveRate = rate.join(starts, (isStart) => {
      this.#leaveRate = undefined;
      this.#serve(isStart);
      if (!isStart) this.#onLeave();
    });
  }
}

function startsOf({ terms }: Call): Permits {
  return terms === undefined ? 1 : terms.starts;
}

/** Throws unless the invariants hold; for tests. */
export function assertSoundSlots(slots: Slots): void {
  const { active, limit, waiting } = slots;
  const [plain, priorities, waitsForStart] = stateOf(slots);
  assertSoundWaitQueue(plain);
  assertSoundPriorityQueue(priorities);
  const mayWait = active >= limit || waitsForStart;
  const isSound = active >= 0 && (waiting === 0 || mayWait) && (!waitsForStart || waiting > 0);
  if (!isSound) throw new Error(`unsound pool: ${active} active, ${waiting} wait, for a start: ${waitsForStart}`);
}
