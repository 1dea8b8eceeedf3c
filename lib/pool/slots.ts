/**
 * The slots of one pool and the queue for them. A function starts when a slot is free and, in a pool with a rate, when
 * the rate limiter allows a start as well.
 *
 * @module
 */
import { hook } from "../internal/hook.ts";
import { timersEndWithRequest } from "../internal/platform.ts";
import { grant, reject, reportGrant } from "../internal/wait_queue.ts";
import { assertSoundLanes, Lanes, type SlotCall } from "./lanes.ts";
import type { StartQueue } from "../internal/start_queue.ts";
import { type RateLimiter, startQueueOf } from "../rate_limiter.ts";

/** The private state, for {@linkcode assertSoundSlots}, which bundlers drop because it is no method. */
let stateOf: (slots: Slots) => readonly [queue: Lanes, waitsForStart: boolean];

export class Slots {
  // #queue.size > 0 implies that no slot is free, or that the first call waits for its start; exactly then #stopWaiting
  // is there.
  #limit: number;
  #active = 0;
  #stopWaiting: (() => void) | undefined;
  readonly rate: StartQueue | undefined;
  readonly #onLeave: () => void;
  readonly #queue: Lanes;

  static {
    stateOf = (slots) => [slots.#queue, slots.#stopWaiting !== undefined];
  }

  /** @param onLeave Called after calls have left the queue without a slot. */
  constructor(limit: number, rate: RateLimiter | undefined, maxWaiting: number, onLeave: () => void) {
    this.#limit = limit;
    this.rate = rate && startQueueOf(rate);
    this.#onLeave = onLeave;
    this.#queue = new Lanes({
      afterLeave: () => {
        this.#serve();
        onLeave();
      },
    }, maxWaiting);
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

  /** Whether the next call waits for a slot. If not, it may wait for a start, or until the pool goes on. */
  get isFull(): boolean {
    return this.#limit > 0 && this.#active >= this.#limit;
  }

  get waiting(): number {
    return this.#queue.size;
  }

  /** Takes a slot, and a start if the call needs one, unless it has to wait. */
  tryTake(call: SlotCall): boolean {
    if (this.#active >= this.#limit || !this.#queue.isEmpty) return false;
    this.#active++; // at once: an observer of the start may use the pool
    if (this.rate !== undefined && call.use.needsStart) {
      let isStarted = false;
      try {
        isStarted = this.rate.startSoon(1);
      } finally {
        if (!isStarted) this.#active--;
      }
      if (!isStarted) return false;
    }
    if (hook !== undefined) reportGrant(call);
    return true;
  }

  /** Waits for what {@linkcode Slots.tryTake} did not get. Options are checked by now. */
  wait(call: SlotCall): Promise<void> {
    const granted = this.#queue.wait(call);
    if (this.rate !== undefined) {
      this.#serve(); // also behind others: their clock may be gone
      if (timersEndWithRequest) this.rate.serveAlong(() => call.queue !== undefined);
    }
    return granted;
  }

  /** Frees the slot of `call`. */
  free(call: SlotCall): void {
    this.#active--;
    if (hook !== undefined) hook.release(call.use, call);
    if (!this.#queue.isEmpty) this.#serve();
  }

  /** Rejects all queued calls. */
  rejectQueued(reason: unknown): void {
    this.#queue.rejectAll(reason);
    this.#serve();
  }

  /** Grants slots while there are both calls and slots, and starts for those that need one. */
  #serve(hasStart = false): void {
    let next: SlotCall | undefined;
    while (this.#active < this.#limit && (next = this.#queue.peek()) !== undefined) {
      if (this.#active >= this.#limit) break; // code that ran as a cancelled call was passed over took the slot
      const { needsStart } = next.use;
      if (this.rate !== undefined && needsStart && !hasStart) {
        const { rate } = this;
        try {
          if (!rate.startSoon(1)) return this.#waitForStart(rate);
        } catch (error) { // the rate limiter was cancelled
          this.#queue.shift(next);
          reject(next, error);
          continue;
        }
        hasStart = true; // an observer of the start may have used the queue: look again
        continue;
      }
      if (needsStart) hasStart = false;
      this.#active++; // first: leaving a foreign signal runs its code
      this.#queue.shift(next);
      grant(next, undefined);
    }
    // Without a call that could use it, no start is waited for: it would be lost.
    const stop = this.#stopWaiting;
    this.#stopWaiting = undefined;
    stop?.();
  }

  /** The code that the rate limiter calls back may use the pool, so this is set before it is asked. */
  #waitForStart(rate: StartQueue): void {
    if (this.#stopWaiting !== undefined) return;
    let isOver = false;
    let leave: (() => void) | undefined = undefined as (() => void) | undefined;
    const stop = this.#stopWaiting = () => {
      isOver = true;
      leave?.();
    };
    leave = rate.join(1, (isStart) => {
      if (this.#stopWaiting === stop) this.#stopWaiting = undefined;
      this.#serve(isStart);
      if (!isStart) this.#onLeave();
    });
    if (isOver) leave?.();
  }
}

/** Throws unless the invariants hold; for tests. */
export function assertSoundSlots(slots: Slots): void {
  const { active, limit, waiting } = slots;
  const [queue, waitsForStart] = stateOf(slots);
  assertSoundLanes(queue);
  const mayWait = active >= limit || waitsForStart;
  if (active < 0 || waiting > 0 && !mayWait) throw new Error(`unsound pool: ${active} active, ${waiting} wait`);
}
