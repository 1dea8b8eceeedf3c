/**
 * The calls of a pool and their queue: a lane for each priority in use. Invariant: the lanes grow in priority, so that the
 * first to serve is at the end, where it is quickly removed; the one of priority 0 is always there. Others in which no
 * call waits any more are fewer than those that did at the same time, and a constant.
 *
 * @module
 */
import type { Cancellation, Served } from "../internal/cancellation.ts";
import { assertSoundWaitQueue, refuse, rejectAll, type WaitedFor, Waiter, WaitQueue } from "../internal/wait_queue.ts";
import type { WaitLimits } from "../internal/check.ts";
import type { Resource } from "../internal/hook.ts";

/** A way to use a slot: the resource that is reported, the operation in messages, and its needs. */
export interface SlotUse extends WaitedFor, Resource {
  readonly kind: string;
  /** Whether it needs a start as well: a map first pulls an item in a slot, without one. */
  readonly needsStart: boolean;
  /** Whether it is for an item of a map, which is never refused: the item waits in its source. */
  readonly isMap: boolean;
}

/** One use of a slot, from its wait to its end. */
export class SlotCall extends Waiter<void> {
  readonly use: SlotUse;
  readonly limits: WaitLimits | undefined;
  readonly priority: number;
  /** Of the function's own signal, if it has one. */
  controller: AbortController | undefined = undefined;
  /** Links the caller's signal to it. */
  link: Cancellation | undefined = undefined;

  constructor(use: SlotUse, limits: WaitLimits | undefined, priority: number) {
    super(use);
    this.use = use;
    this.limits = limits;
    this.priority = priority;
  }
}

/** How many lanes there may be before empty ones are looked for. */
const FEW = 32;

interface Lane {
  readonly priority: number;
  readonly queue: WaitQueue<void, SlotCall>;
}

/** The lanes, for {@linkcode assertSoundLanes}, which bundlers drop because it is no method. */
let stateOf: (lanes: Lanes) => readonly [lanes: readonly Lane[], sweepAt: number];

export class Lanes {
  readonly #owner: Served;
  readonly #most: number;
  #lanes: Lane[];
  /** The number of lanes at which the empty ones are dropped: cancelled calls leave them. */
  #sweepAt = FEW;
  /** The lane of the call that `peek` has just returned. */
  #first: Lane;

  static {
    stateOf = (one) => [one.#lanes, one.#sweepAt];
  }

  /** @param most The most calls that may wait in all lanes together, apart from those that are spared. */
  constructor(owner: Served, most: number) {
    this.#owner = owner;
    this.#most = most;
    this.#first = { priority: 0, queue: new WaitQueue(owner) };
    this.#lanes = [this.#first];
  }

  /** The number of calls that wait. */
  get size(): number {
    let size = 0;
    for (let i = 0; i < this.#lanes.length; i++) size += this.#lanes[i]!.queue.size; // quicker than `reduce`
    return size;
  }

  get isEmpty(): boolean {
    return this.#busy() === undefined; // not by the sizes: each call may have a priority, and so a lane, of its own
  }

  /** Joins the end of the lane of that priority. */
  wait(call: SlotCall): Promise<void> {
    const isFull = !call.use.isMap && this.#most < Infinity && call.limits?.timeout !== 0 && this.size >= this.#most;
    return isFull ? refuse(call, this.size) : this.#lane(call.priority).queue.wait(call, call.limits);
  }

  /** The first call of the greatest priority. It stays in the queue. */
  peek(): SlotCall | undefined {
    for (let lane = this.#busy(); lane !== undefined; lane = this.#busy()) {
      const call = lane.queue.peek();
      // Code that ran as a cancelled call was passed over may have queued one of a greater priority.
      if (call === undefined || lane !== this.#busy()) continue;
      this.#first = lane;
      return call;
    }
    return undefined;
  }

  /** Removes the call that {@linkcode peek} has just returned. */
  shift(call: SlotCall): void {
    this.#first.queue.unlink(call);
  }

  /** Rejects all calls, once all have left. */
  rejectAll(reason: unknown): void {
    const queues = this.#lanes.map(({ queue }) => queue).reverse();
    rejectAll(queues.flatMap((queue) => queue.takeAll()), reason);
  }

  /** The first lane to serve; drops the empty ones before it. */
  #busy(): Lane | undefined {
    for (let i = this.#lanes.length - 1; i >= 0; i--) {
      const lane = this.#lanes[i]!;
      if (lane.queue.size > 0) return lane;
      if (lane.priority !== 0) this.#lanes.splice(i, 1);
    }
    return undefined;
  }

  #lane(priority: number): Lane {
    if (this.#lanes.length >= this.#sweepAt) {
      this.#lanes = this.#lanes.filter((lane) => lane.priority === 0 || lane.queue.size > 0);
      this.#sweepAt = 2 * this.#lanes.length + FEW;
    }
    let low = 0;
    for (let high = this.#lanes.length; low < high;) {
      const middle = (low + high) >> 1;
      if (this.#lanes[middle]!.priority < priority) low = middle + 1;
      else high = middle;
    }
    const found = this.#lanes[low];
    if (found?.priority === priority) return found;
    const lane = { priority, queue: new WaitQueue<void, SlotCall>(this.#owner) };
    this.#lanes.splice(low, 0, lane);
    return lane;
  }
}

/** Throws unless the invariants hold; for tests. */
export function assertSoundLanes(all: Lanes): void {
  const [lanes, sweepAt] = stateOf(all);
  const priorities = lanes.map(({ priority }) => priority);
  const isSound = priorities.includes(0) && priorities.every((one, i) => i === 0 || one > priorities[i - 1]!);
  if (!isSound || lanes.length > sweepAt) throw new Error(`unsound lanes: ${priorities.length} for ${sweepAt}`);
  for (const { queue } of lanes) assertSoundWaitQueue(queue);
}
