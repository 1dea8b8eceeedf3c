/**
 * The life of one map, from the first read to the end, as its reader sees it. The map waits for its first read, then
 * pulls until the source ends or something stops it. It is over once no function runs and the source is closed.
 *
 * @module
 */
import { type Cancellation, onCancel, pause, reasonOf } from "../internal/cancellation.ts";
import { sharedController } from "../internal/platform.ts";
import { show } from "../internal/show.ts";
import { SyncError } from "../errors.ts";
import { Puller } from "./map_puller.ts";
import { assertSoundResults, type Read, Results } from "./map_results.ts";
import type { MapJob, MapResults } from "./types.ts";
import type { MapInProgress, PoolState } from "./state.ts";

/** Milliseconds that the end of a map waits for its source to close while the source still owes an item. */
const CLOSING_TIME = 100;

/** The reason why a map ended before its source. */
interface EarlyEnd {
  readonly error: unknown;
  /** True for a failure, false if the map was cancelled. */
  readonly isFailure: boolean;
}

/** Private state for {@linkcode assertSoundMap}, a function rather than a method so that bundlers can drop it. */
let stateOf: (map: PoolMap<unknown, unknown>) => readonly [puller: Puller<unknown, unknown>, results: Results<unknown>];

export class PoolMap<T, R> implements MapResults<R>, MapInProgress {
  // The signal of #controller is aborted exactly if the map was stopped before its source ended.
  /** Kept until the reader gets it. */
  #earlyEnd: EarlyEnd | undefined;
  /** Whether `return` or `toArray` waits for the end, and so throws the failure. */
  #isEndAwaited = false;
  readonly #pool: PoolState;
  readonly #signal: AbortSignal | undefined;
  readonly #results: Results<R>;
  readonly #controller: AbortController = sharedController();
  readonly #puller: Puller<T, R>;
  #link: Cancellation | undefined;
  /** Resumes `#drive`. */
  #wake: (() => void) | undefined;
  readonly #driving: Promise<void>;

  static {
    stateOf = (one) => [one.#puller, one.#results];
    show(PoolMap, "MapResults", []);
  }

  constructor(pool: PoolState, job: MapJob<T, R>) {
    this.#pool = pool;
    this.#signal = job.signal;
    this.#results = new Results(job.ordered);
    this.#puller = new Puller(pool, this, job, this.#results, this.#controller.signal);
    this.#driving = this.#drive();
    const unread = new SyncError(`Cannot join ${pool.title}: a map was never read: use for await or toArray()`);
    pool.failures.keep(this, unread);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Read<R>> {
    this.#begin();
    const read = this.#results.tryRead();
    if (read !== undefined) {
      if (this.#puller.hasRoomAgain()) this.poke(); // one wake-up for several items, not one at every read
      return Promise.resolve(read);
    }
    if (this.#puller.phase !== "over") {
      this.poke();
      return this.#results.read();
    }
    const end = this.#takeEarlyEnd();
    return end === undefined ? Promise.resolve({ value: undefined, done: true }) : Promise.reject(end.error);
  }

  /**
   * Leaves the loop: aborts the running functions, waits for them to end and closes the source. Throws an earlier
   * failure that was not read.
   */
  async return(): Promise<Read<R>> {
    this.#results.discard();
    this.#stop();
    const end = await this.#end();
    if (end?.isFailure) throw end.error;
    return { value: undefined, done: true };
  }

  async toArray(): Promise<R[]> {
    this.#puller.buffer = Infinity;
    this.#results.collect();
    this.#begin();
    this.poke();
    const end = await this.#end();
    if (end === undefined) return this.#results.takeAll();
    this.#results.discard();
    throw end.error;
  }

  cancel(reason: unknown): void {
    if (!this.#isStopped()) this.#results.discard();
    this.#stop({ error: reason, isFailure: false });
  }

  poke(): void {
    if (this.#puller.canPull()) this.#wake?.();
  }

  /** Starts the map at the first read. */
  #begin(): void {
    if (this.#puller.phase !== "unread") return;
    this.#pool.failures.observe(this);
    this.#puller.phase = "pulling";
    this.#pool.maps.add(this);
    const signal = this.#signal;
    try {
      this.#pool.admit(this.#pool.mapping, { signal });
      if (signal !== undefined) this.#link = onCancel({ signal }, () => this.cancel(reasonOf(signal)));
    } catch (refusal) {
      this.cancel(refusal);
    }
    this.poke();
  }

  /** Runs from the call of `map`; waits for the first read, then pulls. */
  async #drive(): Promise<void> {
    do {
      await new Promise<void>((resolve) => this.#wake = resolve);
      this.#puller.pull();
    } while (!this.#puller.isIdle());
    await this.#close();
    this.#finish();
  }

  /**
   * Ends the map at its first failure. Later failures are dropped: they come from functions that were already aborted.
   */
  fail(error: unknown): void {
    this.#stop({ error, isFailure: true });
  }

  onIdle(): void {
    this.#wake?.();
  }

  #isStopped(): boolean {
    return this.#puller.phase === "over" || this.#controller.signal.aborted;
  }

  #stop(end?: EarlyEnd): void {
    if (this.#isStopped()) return;
    this.#puller.phase = "ending";
    this.#endEarly(end);
    this.#controller.abort(end?.error);
    this.#wake?.();
  }

  /** A failure counts as unobserved from when it happens until the reader gets it. */
  #endEarly(end: EarlyEnd | undefined): void {
    this.#earlyEnd = end;
    if (end?.isFailure) this.#pool.failures.add(this, end.error);
  }

  async #end(): Promise<EarlyEnd | undefined> {
    this.#isEndAwaited = true;
    this.#pool.failures.observe(this); // a `join` in between throws nothing of this map
    await this.#driving;
    return this.#takeEarlyEnd();
  }

  #takeEarlyEnd(): EarlyEnd | undefined {
    const end = this.#earlyEnd;
    this.#earlyEnd = undefined;
    this.#pool.failures.observe(this);
    return end;
  }

  /**
   * Waits until the source is closed. If the source still owes an item, it may be unable to close, so that wait is
   * limited.
   */
  async #close(): Promise<void> {
    const source = this.#puller.source;
    if (source === undefined) return;
    const isOwed = source.pending;
    const closed = source.close().catch((error) => {
      if (this.#earlyEnd === undefined && this.#puller.phase !== "over") this.#endEarly({ error, isFailure: true });
    });
    if (!isOwed) return await closed;
    const isClosed = new AbortController();
    void closed.then(() => isClosed.abort());
    await pause(CLOSING_TIME, isClosed.signal);
  }

  #finish(): void {
    this.#puller.phase = "over";
    this.#link?.end();
    const isReported = this.#results.end(this.#earlyEnd);
    if (isReported) this.#earlyEnd = undefined;
    if (isReported || this.#isEndAwaited) this.#pool.failures.observe(this);
    this.#pool.endMap(this);
  }
}

/** Throws unless the invariants hold; for tests. */
export function assertSoundMap(map: MapInProgress): void {
  const [{ phase, running, started }, results] = stateOf(map as PoolMap<unknown, unknown>);
  const isWorking = phase === "pulling" || phase === "ending";
  const isSound = running >= 0 && running <= started && (running === 0 || isWorking);
  if (!isSound) throw new Error(`unsound map: ${phase}, ${running} of ${started} run`);
  if (phase === "pulling") assertSoundResults(results, running); // a failed function leaves a gap
}
