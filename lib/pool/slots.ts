/**
 * The slots of one pool and the queue for them. A function needs a free slot to start and, in a pool with a rate, a
 * start from the rate limiter.
 *
 * @module
 */
import type { Cancellation, Served } from "../internal/cancellation.ts";
import type { WaitLimits } from "../internal/check.ts";
import { hook } from "../internal/hook.ts";
import { timersEndWithRequest } from "../internal/platform.ts";
import type { Permits, StartQueue } from "../internal/start_queue.ts";
import {
  assertSoundWaitQueue,
  grant,
  refused,
  reject,
  rejectAll,
  reportGrant,
  type WaitedFor,
  Waiter,
  waitersOf,
  WaitQueue,
} from "../internal/wait_queue.ts";

/** A way to use a slot: the resource to report, and the operation named in messages. */
export interface SlotUse extends WaitedFor {
  /** Whether it is for an item of a map. Items are never refused: they wait in the source. */
  readonly isMap: boolean;
}

/**
 * One use of a slot, from its wait to its end: a plain waiter, to keep a queued call small, if only its place in the
 * queue matters. Its target is a {@linkcode SlotUse}.
 */
export type Call = Waiter<void>;

/** One use of a slot by a call with options, or with a signal of its own for its function. */
export class SlotCall extends Waiter<void> {
  readonly limits: WaitLimits | undefined;
  readonly priority: number;
  /** The number of starts that it takes in a pool with a rate. */
  readonly starts: Permits;
  /**
   * Whether the function gets a signal of its own. A function that listens does, so that it leaves no listener on the
   * shared signal.
   */
  readonly needsOwn: boolean;
  /** The controller of that signal while the function runs. */
  controller: AbortController | undefined = undefined;
  /** Links the caller's signal to `controller`. */
  link: Cancellation | undefined = undefined;

  constructor(use: SlotUse, limits: WaitLimits | undefined, priority = 0, starts: Permits = 1, needsOwn = false) {
    super(use);
    this.limits = limits;
    this.priority = priority;
    this.starts = starts;
    this.needsOwn = needsOwn;
  }
}

/** Queued calls: greater priorities first, first come, first served among equals. */
class CallQueue extends WaitQueue<void> {
  /** The last call of each priority, the greatest at the end; may be empty while all calls have priority 0. */
  readonly lasts: Call[] = [];

  protected override link(call: Call): void {
    const { lasts, tail } = this;
    const priority = priorityOf(call);
    if (lasts.length === 0) {
      if (priority === 0) return super.link(call);
      if (tail !== undefined) lasts.push(tail);
    }
    const i = this.#indexOf(priority);
    const previous = lasts[i];
    const next = previous === undefined ? this.head : previous.next;
    if (next === undefined) super.link(call);
    else this.#insert(previous, call, next);
    lasts.splice(i, previous !== undefined && priorityOf(previous) === priority ? 1 : 0, call);
  }

  /** Where in `lasts` the call is that one of this priority would follow; at the end if it would be the first. */
  #indexOf(priority: number): number {
    const { lasts } = this;
    let from = 0;
    for (let to = lasts.length; from < to;) {
      const middle = (from + to) >>> 1;
      if (priorityOf(lasts[middle]!) < priority) from = middle + 1;
      else to = middle;
    }
    return from;
  }

  #insert(previous: Call | undefined, call: Call, next: Call): void {
    if (previous === undefined) this.head = call;
    else previous.next = call;
    call.next = next;
    if (call.cancellation !== undefined) call.cancellation.previous = previous;
    if (next.cancellation !== undefined) next.cancellation.previous = call;
    call.waits = true;
    this.size++;
  }

  override unlink(call: Call): Call | undefined {
    const previous = super.unlink(call);
    const { lasts } = this;
    const i = this.#indexOf(priorityOf(call));
    if (lasts[i] !== call) return previous;
    if (previous !== undefined && priorityOf(previous) === priorityOf(call)) lasts[i] = previous;
    else lasts.splice(i, 1);
    return previous;
  }
}

/** Private state for {@linkcode assertSoundSlots}, a function rather than a method so that bundlers can drop it. */
let stateOf: (slots: Slots) => readonly [queue: CallQueue, waitsForStart: boolean];

export class Slots implements Served {
  // waiting > 0 implies that no slot is free or that the first call waits for its start. #leaveRate is set exactly
  // while the first call waits for its start.
  active = 0;
  readonly rate: StartQueue | undefined;
  #limit: number;
  readonly #maxWaiting: number;
  readonly #onLeave: () => void;
  readonly #queue = new CallQueue(this);
  /** Leaves the queue of the rate limiter, in which the first call waits for its starts. */
  #leaveRate: (() => void) | undefined;
  #awaited: Permits = 1;

  static {
    stateOf = (slots) => [slots.#queue, slots.#leaveRate !== undefined];
  }

  /** @param onLeave Called after calls have left the queue without a slot. */
  constructor(limit: number, rate: StartQueue | undefined, maxWaiting: number, onLeave: () => void) {
    this.#limit = limit;
    this.rate = rate;
    this.#maxWaiting = maxWaiting;
    this.#onLeave = onLeave;
  }

  get limit(): number {
    return this.#limit;
  }

  set limit(limit: number) {
    this.#limit = limit;
    this.#serve();
  }

  /** Whether the next call waits for a slot, rather than for a start or for the end of a pause. */
  get isFull(): boolean {
    return this.#limit > 0 && this.active >= this.#limit;
  }

  /** How many calls wait. */
  get waiting(): number {
    return this.#queue.size;
  }

  /** Whether a call gets its slot without waiting. */
  get isFree(): boolean {
    return this.active < this.#limit && this.#queue.peek() === undefined;
  }

  /** Takes a slot and, in a pool with a rate, the call's starts, unless the call has to wait. */
  tryTake(call: Call): boolean {
    if (!this.isFree || (this.rate !== undefined && !this.rate.startSoon(startsOf(call)))) return false;
    this.active++;
    if (hook !== undefined) reportGrant(call);
    return true;
  }

  /** Waits for what {@linkcode Slots.tryTake} did not get. The options have been checked. */
  wait(call: Call): Promise<void> {
    const { waiting } = this;
    const { limits } = call as Partial<SlotCall>;
    const isRefused = waiting >= this.#maxWaiting && limits?.timeout !== 0 && !(call.target as SlotUse).isMap;
    if (isRefused) throw refused(call, waiting);
    const granted = this.#queue.wait(call, limits);
    if (this.rate !== undefined) {
      this.#serve(); // the call may be the first one now
      if (timersEndWithRequest) void this.rate.serveAlong(call);
    }
    return granted;
  }

  /** Frees the slot of `call`, which is undefined if it was not reported. */
  free(call: Call | undefined): void {
    this.active--;
    if (hook !== undefined && call !== undefined) hook.release(call.target, call);
    this.#serve();
  }

  /** Removes all queued calls, then rejects them in the order of service. */
  rejectQueued(reason: unknown): void {
    rejectAll(this.#queue.takeAll(), reason);
    this.#serve();
  }

  /** After cancelled calls have left, a later call may be first, and the pool may be idle. */
  afterLeave(): void {
    this.#serve();
    this.#onLeave();
  }

  /** Grants slots while there are calls, slots and, in a pool with a rate, starts. */
  #serve(hasStart = false): void {
    let first;
    while ((first = this.#queue.peek()) !== undefined && this.active < this.#limit) {
      if (this.rate !== undefined && !hasStart) {
        const { end } = this.rate.waits;
        if (end !== undefined) {
          const call = this.#queue.take();
          if (call !== undefined) reject(call, end.reason);
          continue;
        }
        const starts = startsOf(first);
        if (!this.rate.startSoon(starts)) return this.#waitForStart(this.rate, starts);
      }
      const call = this.#queue.take();
      if (call === undefined) continue;
      hasStart = false;
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

function priorityOf(call: Call): number {
  return call instanceof SlotCall ? call.priority : 0;
}

function startsOf(call: Call): Permits {
  return call instanceof SlotCall ? call.starts : 1;
}

/** Throws unless the invariants hold; for tests. */
export function assertSoundSlots(slots: Slots): void {
  const { active, limit, waiting } = slots;
  const [queue, waitsForStart] = stateOf(slots);
  assertSoundWaitQueue(queue);
  const calls = waitersOf(queue);
  const isLast = (call: Call, i: number) => i === calls.length - 1 || priorityOf(call) > priorityOf(calls[i + 1]!);
  const lasts = calls.filter(isLast).reverse();
  const areSound = queue.lasts.length === 0
    ? calls.every((call) => priorityOf(call) === 0)
    : queue.lasts.length === lasts.length && lasts.every((call, i) => call === queue.lasts[i]);
  if (!areSound) throw new Error(`unsound order: ${calls.map(priorityOf)}, ${queue.lasts.map(priorityOf)}`);
  const mayWait = active >= limit || waitsForStart;
  const isSound = active >= 0 && (waiting === 0 || mayWait) && (!waitsForStart || waiting > 0);
  if (!isSound) throw new Error(`unsound pool: ${active} active, ${waiting} wait, for a start: ${waitsForStart}`);
}
