/**
 * One map, from the first read to the end. While there is room before the reader, it asks the source for an item, takes
 * a slot for it, and calls the function. It ends with its source, or early by a failure, a cancellation or its reader.
 * It is over once no function runs and the source is closed.
 *
 * The source and the function run in the asynchronous context of map's caller, never in that of the reader or of
 * another slot's holder: `#drive` is called there, and everything else follows an `await` or `then` of its own.
 *
 * @module
 */
import { type CancelWatch, onCancel, pause, reasonOf } from "../internal/cancellation.ts";
import { isThenable } from "../internal/check.ts";
import { follow } from "../internal/follow.ts";
import { hook } from "../internal/hook.ts";
import { sharedController } from "../internal/platform.ts";
import { printAs } from "../internal/show.ts";
import { exposeState } from "../internal/state.ts";
import { SyncError } from "../errors.ts";
import { Call } from "./call.ts";
import { type Read, Results } from "./map_results.ts";
import { Source } from "./map_source.ts";
import type { MapInProgress, PoolState } from "./state.ts";
import type { MapJob, MapResults } from "./types.ts";

/** Milliseconds that the end of a map waits for its source to close while the source still owes an item. */
const CLOSING_TIME = 100;

/** The reason why a map ended before its source. */
interface EarlyEnd {
  readonly error: unknown;
  /** True for a failure, false if the map was cancelled. */
  readonly isFailure: boolean;
}

/**
 * The phase of a map. "unread": nothing has happened yet. "pulling": from the first read on. "ending": no more items
 * are asked for. "over": no function runs, and the source has ended or is being closed.
 */
type MapPhase = "unread" | "pulling" | "ending" | "over";

export class PoolMap<T, R> implements MapResults<R>, MapInProgress {
  // The phase only moves on. #running > 0 implies "pulling" or "ending". The signal of #controller is aborted exactly
  // if the map ended early.
  #phase: MapPhase = "unread";
  /** The number of functions that run. */
  #running = 0;
  /** The number of items for which the function was called. */
  #started = 0;
  /** Whether it waits for an item or a slot: one wait at a time. */
  #isWaiting = false;
  /** The option `buffer`; Infinity from toArray() on. */
  #buffer: number;
  /** Kept until the reader gets it. */
  #earlyEnd: EarlyEnd | undefined;
  readonly #pool: PoolState;
  readonly #job: MapJob<T, R>;
  readonly #results: Results<R>;
  readonly #controller: AbortController = sharedController();
  readonly #signal: AbortSignal = this.#controller.signal;
  /** The use of a slot that all items share while no observer is on. */
  readonly #call: Call;
  /** Opened by the first pull. */
  #source: Source<T> | undefined;
  /** Cancels the map when the caller's signal aborts. */
  #watch: CancelWatch | undefined;
  /** Resumes `#drive`. */
  #wake: (() => void) | undefined;

  static {
    exposeState(PoolMap, (map) => [map.#phase, map.#running, map.#started, map.#results]);
    printAs(PoolMap, "MapResults", []);
  }

  constructor(pool: PoolState, job: MapJob<T, R>) {
    this.#pool = pool;
    this.#job = job;
    this.#buffer = job.buffer;
    this.#results = new Results(job.ordered);
    void this.#drive();
    this.#call = this.#newCall();
    hook?.begin(this.#call); // observers see all items come from here
    const unread = new SyncError(`Cannot join ${pool.title}: a map was never read: use for await or toArray()`);
    pool.failures.keep(this, unread);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Read<R>> {
    this.#begin();
    const ready = this.#results.tryRead();
    if (ready !== undefined) {
      if (this.#hasRoomAgain()) this.checkRoom(); // one wake-up for several items, not one at every read
      return Promise.resolve(ready);
    }
    const read = this.#results.read();
    if (this.#phase === "over") this.#endReads();
    else this.checkRoom();
    return read;
  }

  /**
   * Leaves the loop: aborts the running functions, waits for them to end and closes the source. Throws an earlier
   * failure that was not read.
   */
  return(): Promise<Read<R>> {
    this.#results.discard();
    this.#begin();
    this.#stop();
    if (this.#earlyEnd?.isFailure === false) this.#earlyEnd = undefined; // only a failure is thrown here
    return this.next();
  }

  async toArray(): Promise<R[]> {
    this.#buffer = Infinity;
    this.#results.collect();
    await this.next(); // resolves at the end
    return this.#results.takeAll();
  }

  cancel(reason: unknown): void {
    this.#stop({ error: reason, isFailure: false });
  }

  checkRoom(): void {
    if (this.#canPull()) this.#wake?.();
  }

  /** Starts the map at the first read. */
  #begin(): void {
    if (this.#phase !== "unread") return;
    this.#pool.failures.observe(this);
    this.#phase = "pulling";
    this.#pool.maps.add(this);
    const { signal } = this.#job;
    try {
      this.#pool.admit(this.#pool.mapTarget, { signal });
      if (signal !== undefined) this.#watch = onCancel({ signal }, () => this.cancel(reasonOf(signal)));
    } catch (refusal) {
      this.cancel(refusal);
    }
    this.checkRoom();
  }

  /** Runs from the call of `map`; waits for the first read, then pulls. */
  async #drive(): Promise<void> {
    do {
      await new Promise<void>((resolve) => this.#wake = resolve);
      this.#pull();
    } while (!this.#isIdle());
    await this.#close();
    this.#phase = "over";
    this.#watch?.end();
    this.#endReads();
    this.#pool.endMap(this);
  }

  /** No more items are asked for, and no function runs. */
  #isIdle(): boolean {
    return this.#phase !== "pulling" && this.#running === 0;
  }

  /** The maximum number of functions at a time. At least 1, so that the map of a paused pool waits in the queue. */
  #maxRunning(): number {
    return this.#pool.slots.limit || 1;
  }

  /** Whether enough results were read, since pulling stopped for lack of room, to be worth a wake-up. */
  #hasRoomAgain(): boolean {
    const room = Math.max(this.#buffer, this.#maxRunning());
    return this.#results.ahead === room - Math.max(room >> 2, 1); // a quarter of it; equal at one read only
  }

  /**
   * Whether to ask for an item now. While all functions run, an asynchronous source is asked for one item ahead, so
   * that it works meanwhile.
   */
  #canPull(): boolean {
    if (this.#phase !== "pulling" || this.#isWaiting) return false;
    const limit = this.#maxRunning();
    if (this.#running >= limit) return this.#source?.canAskAhead === true;
    return this.#results.ahead < limit || this.#results.ahead < this.#buffer;
  }

  /**
   * Calls the function for items until it has to wait. The item comes before its slot: holding a slot while waiting for
   * an item could deadlock, as other calls may need the slot for what the source waits for; and the end of the source
   * uses no start of a rate.
   */
  #pull(): void {
    try {
      while (this.#canPull()) {
        const source = this.#source ??= new Source(this.#job.source);
        if (source.state !== "full") {
          const asked = source.ask();
          if (asked !== undefined) return void this.#wait(asked);
          this.#noticeEnd();
          if (this.#phase !== "pulling" || this.#running >= this.#maxRunning()) continue; // the source's own code may do that
        }
        const call = this.#nextCall();
        if (!this.#pool.slots.tryTake(call)) return void this.#wait(this.#pool.slots.wait(call), call);
        this.#start(call, source.take());
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Waits for an item, or for the slot of `call` for the item that has arrived. */
  async #wait(ready: Promise<void>, call?: Call): Promise<void> {
    this.#isWaiting = true;
    try {
      await ready;
    } catch (error) {
      this.#fail(error); // if the map was stopped, its own signal has ended the wait
      call = undefined; // it has no slot
    }
    this.#isWaiting = false;
    this.#noticeEnd();
    if (call !== undefined && this.#phase === "pulling") this.#start(call, this.#source!.take());
    else if (call !== undefined) this.#pool.slots.free(call);
    this.#pullOrEnd();
  }

  /** Stops pulling if the source has ended. */
  #noticeEnd(): void {
    if (this.#source!.state === "over" && this.#phase === "pulling") this.#phase = "ending";
  }

  /** Returns the use of a slot for the next item. All items share one while no observer distinguishes them. */
  #nextCall(): Call {
    if (hook === undefined) return this.#call;
    const call = this.#newCall();
    hook.begin(call, this.#call);
    return call;
  }

  #newCall(): Call {
    const { priority } = this.#job;
    return new Call(this.#pool.mapTarget, { signal: this.#signal, timeout: Infinity, priority, turn: 0, index: 0 });
  }

  #start(call: Call, item: T): void {
    const index = this.#started++;
    const node = this.#results.add(index);
    const { fn } = this.#job;
    const signal = this.#signal;
    this.#running++;
    try {
      const result = hook === undefined ? fn(item, index, signal) : hook.run(call, () => fn(item, index, signal));
      if (isThenable(result)) {
        return follow(result, (value) => {
          this.#results.fill(node, index, value);
          this.#free(call);
          this.#pullOrEnd();
        }, (error) => {
          this.#fail(error);
          this.#free(call);
          this.#pullOrEnd();
        });
      }
      this.#results.fill(node, index, result);
    } catch (error) {
      this.#fail(error);
    }
    this.#free(call);
  }

  #free(call: Call): void {
    this.#running--;
    // Queue for the next slot before freeing this one: calls of greater priority come first.
    if (this.#pool.slots.queue.size > 0) this.#pull();
    this.#pool.slots.free(call);
  }

  #pullOrEnd(): void {
    this.#pull();
    if (this.#running === 0 && this.#isIdle()) this.#wake?.();
  }

  /** Ends the map at its first failure. Later failures are dropped: they come from functions that were aborted. */
  #fail(error: unknown): void {
    this.#stop({ error, isFailure: true });
  }

  #stop(end?: EarlyEnd): void {
    if (this.#phase === "over" || this.#signal.aborted) return;
    this.#phase = "ending";
    if (!end?.isFailure) this.#results.discard();
    this.#endEarly(end);
    this.#controller.abort(end?.error);
    this.#wake?.();
  }

  /** A failure counts as unobserved from when it happens until the reader gets it. */
  #endEarly(end: EarlyEnd | undefined): void {
    this.#earlyEnd = end;
    if (end?.isFailure) this.#pool.failures.add(this, end.error, !this.#results.isAwaited);
  }

  /** Ends the waiting reads once the map is over. The first read gets the error. */
  #endReads(): void {
    if (!this.#results.end(this.#earlyEnd)) return;
    this.#earlyEnd = undefined;
    this.#pool.failures.observe(this);
  }

  /**
   * Waits until the source is closed. If the source still owes an item, it may be unable to close, so that wait is
   * limited.
   */
  async #close(): Promise<void> {
    const source = this.#source;
    if (source === undefined) return;
    const isOwing = source.state === "owing";
    const sourceClosed = source.close().catch((error) => {
      if (this.#earlyEnd === undefined && this.#phase !== "over") this.#endEarly({ error, isFailure: true });
    });
    if (!isOwing) return await sourceClosed;
    await pause(CLOSING_TIME, undefined, true, sourceClosed);
  }
}
