/**
 * Pulls the items of one map: waits for an item, then for a slot, then calls the function, while there is room between
 * the functions and the reader.
 *
 * `pull` is called in the asynchronous context of map's caller, and everything else follows an `await` or `then` of its
 * own. So the source and the function always run in that context, never in that of the reader or of another slot's
 * holder.
 *
 * @module
 */
import { isThenable, type WaitLimits } from "../internal/check.ts";
import { follow } from "../internal/follow.ts";
import { type Hook, hook } from "../internal/hook.ts";
import type { Results } from "./map_results.ts";
import { Source } from "./map_source.ts";
import { SlotCall } from "./slots.ts";
import type { PoolState } from "./state.ts";
import type { MapJob } from "./types.ts";

/** The map that a puller works for. */
interface PulledMap {
  /** The source or the function failed. */
  fail(error: unknown): void;
  /** No more items are pulled, and no function runs. */
  onIdle(): void;
}

/**
 * The phase of a map. "unread": nothing has happened yet. "pulling": from the first read on. "ending": no more items
 * are pulled. "over": no function runs, and the source has ended or is being closed.
 */
type MapPhase = "unread" | "pulling" | "ending" | "over";

export class Puller<T, R> {
  // The phase only moves on. running > 0 implies "pulling" or "ending".
  phase: MapPhase = "unread";
  running = 0;
  started = 0;
  buffer: number;
  /** Opened by the first pull. */
  source: Source<T> | undefined;
  /** Whether the puller waits for an item or a slot: one wait at a time. */
  #isWaiting = false;
  readonly #pool: PoolState;
  readonly #map: PulledMap;
  readonly #job: MapJob<T, R>;
  readonly #results: Results<R>;
  readonly #limits: WaitLimits;
  /** Shared by all calls that need not wait while no observer distinguishes them. */
  readonly #unobserved: SlotCall;

  constructor(pool: PoolState, map: PulledMap, job: MapJob<T, R>, results: Results<R>, signal: AbortSignal) {
    this.buffer = job.buffer;
    this.#pool = pool;
    this.#map = map;
    this.#job = job;
    this.#results = results;
    this.#limits = { signal, timeout: Infinity };
    this.#unobserved = this.#slotCall();
  }

  /** No more items are pulled, and no function runs. */
  isIdle(): boolean {
    return this.phase !== "pulling" && this.running === 0;
  }

  /** The maximum number of functions at a time. At least 1, so that the map of a paused pool waits in the queue. */
  #most(): number {
    return Math.max(this.#pool.slots.limit, 1);
  }

  canPull(): boolean {
    return this.phase === "pulling" && !this.#isWaiting && this.running < this.#most() &&
      this.#results.ahead < Math.max(this.buffer, this.#most());
  }

  /** Whether enough results were read, since pulling stopped for lack of room, to be worth a wake-up. */
  hasRoomAgain(): boolean {
    const room = Math.max(this.buffer, this.#most());
    return this.#results.ahead === room - Math.max(room >> 2, 1);
  }

  /** Calls the function for items until it has to wait for an item or a slot. */
  pull(): void {
    try {
      while (this.canPull()) {
        const source = this.source ??= new Source(this.#job.source);
        if (!source.hasItem && this.#asksFirst(source)) {
          if (this.#ask(source)) return;
          continue;
        }
        const call = hook === undefined ? this.#unobserved : this.#slotCall();
        if (!this.#pool.slots.tryTake(call)) return void this.#waitForSlot(call);
        this.#use(call);
      }
      this.#askAhead();
    } catch (error) {
      this.#map.fail(error);
    }
  }

  /**
   * Whether to ask for an item before there is a slot for it. Holding a slot while waiting for an item could deadlock:
   * other calls may need the slot for what the source waits for. With a rate, asking first uses no start for the end of
   * the source.
   */
  #asksFirst({ isAsync }: Source<T>): boolean {
    return isAsync || this.#pool.slots.rate !== undefined;
  }

  /** Asks an asynchronous source for one item ahead, so that it works while the functions take all slots. */
  #askAhead(): void {
    const source = this.source;
    if (this.phase !== "pulling" || this.#isWaiting || this.running < this.#most()) return;
    if (source?.isAsync && !source.hasItem) this.#ask(source);
  }

  /** Asks the source for an item. Returns whether the caller has to wait for it. */
  #ask(source: Source<T>): boolean {
    const later = source.ask();
    if (later !== undefined) void this.#waitForItem(later);
    else this.#noticeEnd(source);
    return later !== undefined;
  }

  async #waitForItem(later: Promise<void>): Promise<void> {
    this.#isWaiting = true;
    try {
      await later;
      this.#noticeEnd(this.source!);
    } catch (error) {
      this.#map.fail(error);
    }
    this.#isWaiting = false;
    this.#goOn();
  }

  async #waitForSlot(call: SlotCall): Promise<void> {
    this.#isWaiting = true;
    let isGranted = false;
    try {
      await this.#pool.slots.wait(call);
      isGranted = true;
    } catch (error) {
      this.#map.fail(error); // if the map was stopped, its own signal has ended the wait
    }
    this.#isWaiting = false; // first, because the end of a synchronous function may wait for the next slot
    try {
      if (isGranted) this.#use(call);
    } catch (error) {
      this.#map.fail(error);
    }
    this.#goOn();
  }

  #noticeEnd(source: Source<T>): void {
    if (source.done && this.phase === "pulling") this.phase = "ending";
  }

  /** Calls the function for the next item in the slot of `call`, or frees the slot if there is no item. */
  #use(call: SlotCall): void {
    const source = this.source!;
    try {
      if (this.phase === "pulling" && !source.hasItem) this.#ask(source);
    } catch (error) {
      this.#pool.free(call);
      throw error;
    }
    if (this.phase === "pulling" && source.hasItem) this.#start(call, source.take());
    else this.#pool.free(call);
  }

  #start(call: SlotCall, item: T): void {
    const index = this.started++;
    const node = this.#results.add(index);
    this.running++;
    try {
      const result = hook === undefined ? this.#call(item, index) : this.#callObserved(hook, call, item, index);
      if (isThenable(result)) {
        return follow(result, (value) => {
          this.#results.fill(node, index, value);
          this.#end(call);
        }, (error) => {
          this.#map.fail(error);
          this.#end(call);
        });
      }
      this.#results.fill(node, index, result);
    } catch (error) {
      this.#map.fail(error);
    }
    this.#free(call);
  }

  #call(item: T, index: number): R | PromiseLike<R> {
    const { fn } = this.#job;
    return fn(item, index, this.#limits.signal!);
  }

  #callObserved(hook: Hook, call: SlotCall, item: T, index: number): R | PromiseLike<R> {
    return hook.run(call, () => this.#call(item, index));
  }

  #free(call: SlotCall): void {
    this.running--;
    // Queue for the next slot before freeing this one: calls of greater priority come first.
    if (this.#pool.slots.waiting > 0) this.pull();
    this.#pool.free(call);
  }

  #end(call: SlotCall): void {
    this.#free(call);
    this.#goOn();
  }

  #goOn(): void {
    this.pull();
    if (this.isIdle()) this.#map.onIdle();
  }

  /**
   * Makes a use of a slot for this map. The first is made in the call of `map`, which is where observers see them all
   * come from.
   */
  #slotCall(): SlotCall {
    const call = new SlotCall(this.#pool.mapping, this.#limits, this.#job.priority);
    if (hook !== undefined) hook.begin(call, this.#unobserved);
    return call;
  }
}
