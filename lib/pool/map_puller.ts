/**
 * Pulls the items of one map while there are slots and room, and calls the function for each.
 *
 * `pull` is called in the asynchronous context of map's caller, and all else follows an `await` or `then` of its own: so
 * the source and the function always run in that context, never in that of the reader or of another slot's holder.
 *
 * @module
 */
import { isThenable, type WaitLimits } from "../internal/check.ts";
import { follow } from "../internal/follow.ts";
import { type Hook, hook } from "../internal/hook.ts";
import type { ResultNode, Results } from "./map_results.ts";
import { Source } from "./map_source.ts";
import type { MapJob } from "./map_types.ts";
import { SlotCall, type SlotUse } from "./lanes.ts";
import type { PoolState } from "./state.ts";

/** The map that a puller works for. */
export interface PulledMap {
  /** The source or the function failed. */
  fail(error: unknown): void;
  /** No more items are pulled, and no function runs. */
  onIdle(): void;
}

/**
 * How far a map is. "unread": nothing has happened yet. "pulling": from the first read on. "ending": no more items are
 * pulled. "over": no function runs, and the
 * source has ended or is being closed.
 */
type MapPhase = "unread" | "pulling" | "ending" | "over";

export class Puller<T, R> {
  // The phase only moves on. #running > 0 implies "pulling" or "ending".
  phase: MapPhase = "unread";
  buffer: number;
  /** Opened by the first pull. */
  source: Source<T> | undefined;
  #running = 0;
  #pulled = 0;
  /** An item is waited for: its slot, the source, or its start. One at a time. */
  #isWaiting = false;
  readonly #idle: Worker<T, R>[] = [];
  readonly #pool: PoolState;
  readonly #map: PulledMap;
  readonly #job: MapJob<T, R>;
  readonly #results: Results<R>;
  readonly #limits: WaitLimits;
  /** All calls that need not wait, while nothing observes them one by one. */
  readonly #unobserved: SlotCall;

  constructor(pool: PoolState, map: PulledMap, job: MapJob<T, R>, results: Results<R>, signal: AbortSignal) {
    this.buffer = job.buffer;
    this.#pool = pool;
    this.#map = map;
    this.#job = job;
    this.#results = results;
    this.#limits = { signal, timeout: Infinity };
    this.#unobserved = this.#slotCall(pool.pulling);
  }

  /** No more items are pulled, and no function runs. */
  get isIdle(): boolean {
    return this.phase !== "pulling" && this.#running === 0;
  }

  get canPull(): boolean {
    const atOnce = Math.max(this.#pool.slots.limit, 1); // also while the pool is paused: the map waits in its queue
    // With as many functions running as there are slots, the next one to end pulls.
    return this.#running < atOnce && this.phase === "pulling" && !this.#isWaiting &&
      this.#results.ahead < Math.max(this.buffer, atOnce);
  }

  /** Whether so many results were read since pulling stopped for lack of room that it is worth a wake-up. */
  get hasRoomAgain(): boolean {
    const room = Math.max(this.buffer, this.#pool.slots.limit, 1);
    return this.#results.ahead === room - Math.max(room >> 2, 1);
  }

  /** Pulls items and calls the function for them, until something has to be waited for. */
  pull(): void {
    try {
      while (this.canPull) {
        this.source ??= new Source(this.#job.source);
        const { pulling, slots } = this.#pool;
        const call = hook === undefined ? this.#unobserved : this.#slotCall(pulling);
        if (!slots.tryTake(call)) return void this.#pullLater(this.#slotCall(pulling));
        const later = this.#ask(call, this.source);
        if (later !== undefined) return void this.#pullLater(call, later);
        this.#start(call);
      }
    } catch (error) {
      this.#map.fail(error);
    }
  }

  /** A use of a slot by this map. The first one is made in the call of `map`: to observers, all come from there. */
  #slotCall(use: SlotUse): SlotCall {
    const call = new SlotCall(use, this.#limits, this.#job.priority);
    if (hook !== undefined) hook.begin(call, this.#unobserved);
    return call;
  }

  /** Pulls one item that has to be waited for: its slot, or else the source. */
  async #pullLater(call: SlotCall | undefined, later?: Promise<void>): Promise<void> {
    this.#isWaiting = true;
    try {
      if (later === undefined) {
        await this.#pool.slot(call!);
        later = this.#ask(call!, this.source!);
      }
      if (later !== undefined) {
        call = undefined; // its slot is free
        await later;
        if (this.#mayStart()) await this.#pool.slot(call = this.#slotCall(this.#pool.mapping));
      }
    } catch (error) {
      call = undefined;
      this.#map.fail(error);
    }
    this.#isWaiting = false; // first: the end of a synchronous function may wait for the next slot
    if (call !== undefined) this.#start(call);
    this.#goOn();
  }

  /**
   * Asks the source for an item. If that or the start has to be waited for, returns a promise and frees the slot, because
   * other calls may need it for what the source waits for.
   */
  #ask(call: SlotCall, source: Source<T>): Promise<void> | undefined {
    if (this.phase !== "pulling") return undefined;
    let later;
    try {
      later = source.next();
      if (this.#pool.slots.rate !== undefined) later ??= Promise.resolve();
    } catch (error) {
      this.#pool.free(call);
      throw error;
    }
    if (later !== undefined) this.#pool.free(call);
    return later;
  }

  /** Whether the source has not ended, and the map was not stopped. */
  #mayStart(): boolean {
    if (this.phase === "pulling" && this.source!.done) this.phase = "ending";
    return this.phase === "pulling";
  }

  /** Calls the function for the last item, in the slot of `call`. */
  #start(call: SlotCall): void {
    if (!this.#mayStart()) return this.#pool.free(call);
    const worker = this.#idle.pop() ?? new Worker(this);
    worker.call = call;
    worker.index = this.#pulled++;
    worker.node = this.#results.add(worker.index);
    this.#running++;
    try {
      const result = hook === undefined ? this.#call(worker.index) : this.#callObserved(hook, call, worker.index);
      if (isThenable(result)) return follow(result, worker.onFulfilled, worker.onRejected);
      this.#results.fill(worker.node, worker.index, result);
    } catch (error) {
      this.#map.fail(error);
    }
    this.#end(worker);
  }

  #call(index: number): R | PromiseLike<R> {
    const { fn } = this.#job;
    return fn(this.source!.value as T, index, this.#limits.signal!);
  }

  #callObserved(hook: Hook, call: SlotCall, index: number): R | PromiseLike<R> {
    return hook.run(call, () => this.#call(index));
  }

  onFulfilled(worker: Worker<T, R>, value: R): void {
    this.#results.fill(worker.node, worker.index, value);
    this.#end(worker);
    this.#goOn();
  }

  onRejected(worker: Worker<T, R>, error: unknown): void {
    this.#map.fail(error);
    this.#end(worker);
    this.#goOn();
  }

  #end(worker: Worker<T, R>): void {
    this.#running--;
    // Waits for the next slot before this one is free: greater priorities come first.
    if (this.#pool.slots.waiting > 0) this.pull();
    this.#pool.free(worker.call!);
    worker.node = worker.call = undefined;
    this.#idle.push(worker);
  }

  #goOn(): void {
    this.pull();
    if (this.isIdle) this.#map.onIdle();
  }
}

/** Has one item at a time. Workers are used again, which saves two closures for each item. */
class Worker<T, R> {
  /** Of the item: its slot, its index, and the place of its result. */
  call: SlotCall | undefined;
  index = 0;
  node: ResultNode<R> | undefined;
  readonly onFulfilled: (value: R) => void;
  readonly onRejected: (error: unknown) => void;

  constructor(puller: Puller<T, R>) {
    this.onFulfilled = (value) => puller.onFulfilled(this, value);
    this.onRejected = (error) => puller.onRejected(this, error);
  }
}
