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

/** The calls of one priority. */
interface Lane {
  readonly priority: number;
  readonly queue: WaitQueue<void>;
}

/** Private state for {@linkcode assertSoundSlots}, a function rather than a method so that bundlers can drop it. */
let stateOf: (slots: Slots) => readonly [lanes: readonly Lane[], waitsForStart: boolean];

export class Slots implements Served {
  // waiting > 0 implies that no slot is free or that the first call waits for its start. #leaveRate is set exactly
  // while the first call waits for its start.
  active = 0;
  readonly rate: StartQueue | undefined;
  #limit: number;
  readonly #maxWaiting: number;
  readonly #onLeave: () => void;
  /**
   * Ordered by priority. The lane of priority 0 always exists, every other lane only while calls wait in it. Replaced on
   * change: while it is read, calls may leave, and observers act.
   */
  #lanes: readonly Lane[];
  /** Leaves the queue of the rate limiter, in which the first call waits for its starts. */
  #leaveRate: (() => void) | undefined;
  #awaited: Permits = 1;

  static {
    stateOf = (slots) => [slots.#lanes, slots.#leaveRate !== undefined];
  }

  /** @param onLeave Called after calls have left the queue without a slot. */
  constructor(limit: number, rate: StartQueue | undefined, maxWaiting: number, onLeave: () => void) {
    this.#limit = limit;
    this.rate = rate;
    this.#maxWaiting = maxWaiting;
    this.#onLeave = onLeave;
    this.#lanes = [{ priority: 0, queue: new WaitQueue(this) }];
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
    let waiting = 0;
    for (const { queue } of this.#lanes) waiting += queue.size;
    return waiting;
  }

  /** Whether a call gets its slot without waiting. */
  get isFree(): boolean {
    return this.active < this.#limit && this.#front() === undefined;
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
    const { limits, priority = 0 } = call as Partial<SlotCall>;
    const isRefused = waiting >= this.#maxWaiting && limits?.timeout !== 0 && !(call.target as SlotUse).isMap;
    if (isRefused) throw refused(call, waiting);
    const granted = this.#lane(limits?.timeout === 0 ? 0 : priority).queue.wait(call, limits);
    if (this.rate !== undefined) {
      this.#serve(); // the call may be the first one now
      if (timersEndWithRequest) this.rate.serveAlong(() => call.waits);
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
    const queues = this.#lanes.map(({ queue }) => queue).reverse();
    rejectAll(queues.flatMap((queue) => queue.takeAll()), reason);
    this.#serve();
  }

  /** After cancelled calls have left, a later call may be first, and the pool may be idle. */
  afterLeave(): void {
    this.#dropLanes();
    this.#serve();
    this.#onLeave();
  }

  /** Grants slots while there are calls, slots and, in a pool with a rate, starts. */
  #serve(hasStart = false): void {
    let queue;
    while ((queue = this.#front()) !== undefined && this.active < this.#limit) {
      if (this.rate !== undefined && !hasStart) {
        const { end } = this.rate.waits;
        if (end !== undefined) {
          const call = queue.take();
          if (call !== undefined) reject(call, end.reason);
          continue;
        }
        const starts = startsOf(queue.peek()!);
        if (!this.rate.startSoon(starts)) return this.#waitForStart(this.rate, starts);
      }
      const call = queue.take();
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

  /** Returns the queue to serve first; it has a call that is not aborted. Undefined if no call waits. */
  #front(): WaitQueue<void> | undefined {
    const lanes = this.#lanes;
    let i = lanes.length - 1;
    while (i >= 0 && (lanes[i]!.queue.size === 0 || lanes[i]!.queue.peek() === undefined)) i--;
    this.#dropLanes();
    return lanes[i]?.queue;
  }

  /** Drops the lanes in which no call waits any more. */
  #dropLanes(): void {
    const isUsed = ({ priority, queue }: Lane) => priority === 0 || queue.size > 0;
    if (this.#lanes.length > 1 && !this.#lanes.every(isUsed)) this.#lanes = this.#lanes.filter(isUsed);
  }

  /** Returns the lane of a priority, and creates it if necessary. */
  #lane(priority: number): Lane {
    const lanes = this.#lanes;
    let i = 0;
    while (i < lanes.length && lanes[i]!.priority < priority) i++;
    const found = lanes[i];
    if (found?.priority === priority) return found;
    const lane = { priority, queue: new WaitQueue<void>(this) };
    this.#lanes = [...lanes.slice(0, i), lane, ...lanes.slice(i)];
    return lane;
  }
}

function startsOf(call: Call): Permits {
  return call instanceof SlotCall ? call.starts : 1;
}

/** Throws unless the invariants hold; for tests. */
export function assertSoundSlots(slots: Slots): void {
  const { active, limit, waiting } = slots;
  const [lanes, waitsForStart] = stateOf(slots);
  const priorities = lanes.map(({ priority }) => priority);
  const areSound = priorities.includes(0) && priorities.every((one, i) => i === 0 || one > priorities[i - 1]!) &&
    lanes.every(({ priority, queue }) => priority === 0 || queue.size > 0);
  if (!areSound) throw new Error(`unsound lanes: ${priorities}`);
  for (const { queue } of lanes) assertSoundWaitQueue(queue);
  const mayWait = active >= limit || waitsForStart;
  const isSound = active >= 0 && (waiting === 0 || mayWait) && (!waitsForStart || waiting > 0);
  if (!isSound) throw new Error(`unsound pool: ${active} active, ${waiting} wait, for a start: ${waitsForStart}`);
}
