/**
 * One map: pulls items from a source as places and room allow, works on them, and keeps the results for the reader.
 *
 * Everything that calls the source or the function goes on from an `await` in `#drive`, never from a call of the reader
 * or of whoever freed a place, so all callbacks run in the asynchronous context of who called `map`.
 *
 * @module
 */
import { isThenable } from "../internal/check.ts";
import { type Read, Results, type Slot } from "./map_results.ts";
import { type MapSource, Source } from "./map_source.ts";
import type { MapInProgress, PoolState } from "./state.ts";
import { WaitQueue } from "../internal/wait_queue.ts";
import { describe, PlainWaiter } from "../internal/waiter.ts";
import { type CancelRegistration, onCancel, reasonOf } from "../internal/cancellation.ts";

/** Options of {@linkcode Pool.map}. */
export interface MapOptions {
  /** Whether the results come in the order of the items; true unless said. Otherwise they come as they are ready. */
  readonly ordered?: boolean | undefined;
  /** Ends the map early: what runs is aborted, and the reader is rejected with `signal.reason` as it is. */
  readonly signal?: AbortSignal | undefined;
}

/** What a map calls for each item. */
export type MapFunction<T, R> = (value: T, index: number, signal: AbortSignal) => R | PromiseLike<R>;

/** Milliseconds that leaving waits for a source that is to close while it still owes an item. */
const CLOSING_TIME = 100;
const ACT = "map in pool";
const MAPPING = describe(undefined, ACT);

/** Why a map ended before its source did. */
interface EarlyEnd {
  readonly error: unknown;
  /** Whether something failed, rather than that it was told to stop. */
  readonly failure: boolean;
}

export class PoolMap<T, R> implements AsyncIterableIterator<R, undefined, undefined>, MapInProgress {
  // #inside counts the items between source and reader: it grows only while it is below the limit.
  // #over implies that nothing runs, and that the source is done or was told to close.
  #inside = 0;
  #running = 0;
  #begun = false;
  #pulling = true;
  #stopped = false;
  #over = false;
  /** The reader waits for the end in `return`, which throws what failed. */
  #leaving = false;
  /** Until the reader is told. */
  #earlyEnd: EarlyEnd | undefined;
  readonly #pool: PoolState;
  readonly #fn: MapFunction<T, R>;
  readonly #ordered: boolean;
  readonly #controller = new AbortController();
  readonly #results: Results<R>;
  /** Where the pulling waits for the first read and for room, and the driving for the end. */
  readonly #room = new WaitQueue<void>();
  readonly #end = new WaitQueue<void>();
  readonly #watch: Watch;
  readonly #driving: Promise<void>;

  constructor(pool: PoolState, source: MapSource<T>, fn: MapFunction<T, R>, options: MapOptions) {
    this.#pool = pool;
    this.#fn = fn;
    this.#ordered = options.ordered ?? true;
    this.#results = new Results(() => this.#onRead());
    this.#watch = new Watch(options.signal, (reason) => this.cancel(reason));
    this.#driving = this.#drive(source);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Read<R>> {
    if (!this.#begun) this.#begin();
    const read = this.#results.tryRead();
    if (read !== undefined) return Promise.resolve(read);
    if (!this.#over) return this.#hungry();
    const end = this.#takeEarlyEnd();
    return end === undefined ? Promise.resolve({ value: undefined, done: true }) : Promise.reject(end.error);
  }

  /** Who waits for results is not held up by a puller that waits for more room. */
  #hungry(): Promise<Read<R>> {
    this.poke();
    return this.#results.read();
  }

  /** Leaves: aborts what runs, waits for its end, closes the source. Throws what had failed before and was not read. */
  async return(): Promise<Read<R>> {
    this.#begun = this.#leaving = true;
    this.#results.discard();
    this.#stop();
    await this.#driving;
    const end = this.#takeEarlyEnd();
    if (end?.failure) throw end.error;
    return { value: undefined, done: true };
  }

  cancel(reason: unknown): void {
    if (this.#stopped || this.#over) return;
    this.#results.discard();
    this.#stop({ error: reason, failure: false });
  }

  poke(): void {
    this.#room.wakeOne();
  }

  #begin(): void {
    this.#begun = true;
    try {
      this.#pool.admit(ACT, { signal: this.#watch.signal });
      this.#pool.beginMap(this);
      this.#watch.begin();
    } catch (refusal) {
      this.cancel(refusal);
    }
    this.poke();
  }

  /** Begins here, in the context of who called map; the first read lets it go on. */
  async #drive(given: MapSource<T>): Promise<void> {
    await this.#room.wait(new PlainWaiter(MAPPING));
    const source = this.#pulling ? this.#open(given) : undefined;
    if (source !== undefined) void this.#pull(source);
    while (this.#pulling || this.#running > 0) await this.#end.wait(new PlainWaiter(MAPPING));
    if (source !== undefined) await this.#close(source);
    this.#finish();
  }

  #open(given: MapSource<T>): Source<T> | undefined {
    try {
      return new Source(given);
    } catch (error) {
      this.#fail(error);
      return undefined;
    }
  }

  async #pull(source: Source<T>): Promise<void> {
    try {
      for (let index = 0; this.#pulling;) {
        if (this.#inside >= this.#pool.limit) {
          await this.#room.wait(new PlainWaiter(MAPPING));
          continue;
        }
        if (!this.#pool.tryTake()) await this.#place();
        const later = this.#ask(source);
        if (later !== undefined) {
          this.#pool.free(); // others may need it for what the source waits for
          await later;
          if (source.done || !this.#pulling) return;
          if (!this.#pool.tryTake()) await this.#place();
        } else if (source.done) return this.#pool.free();
        this.#start(source.value as T, index++);
      }
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#pulling = false;
      this.#end.wakeOne();
    }
  }

  async #place(): Promise<void> {
    const { signal } = this.#controller;
    await this.#pool.wait(ACT, { signal });
    if (!signal.aborted) return;
    this.#pool.free();
    throw signal.reason;
  }

  #ask(source: Source<T>): ReturnType<Source<T>["next"]> {
    try {
      return source.next();
    } catch (error) {
      this.#pool.free();
      throw error;
    }
  }

  /** Works on one item, in a place that is taken by now. */
  #start(value: T, index: number): void {
    this.#inside++;
    this.#running++;
    const slot = this.#ordered ? this.#results.reserve() : undefined;
    try {
      const result = this.#fn(value, index, this.#controller.signal);
      if (isThenable(result)) return void this.#follow(slot, result);
      this.#results.fill(slot ?? this.#results.reserve(), result);
    } catch (error) {
      this.#fail(error);
    }
    this.#done();
  }

  async #follow(slot: Slot<R> | undefined, result: PromiseLike<R>): Promise<void> {
    try {
      const value = await result;
      this.#results.fill(slot ?? this.#results.reserve(), value);
    } catch (error) {
      this.#fail(error);
    }
    this.#done();
  }

  #done(): void {
    this.#running--;
    this.#pool.free();
    if (this.#running === 0 && !this.#pulling) this.#end.wakeOne();
  }

  /** While results lie ready, pulling one by one is not worth the wake-ups. */
  #onRead(): void {
    this.#inside--;
    if (this.#room.size > 0 && this.#inside <= this.#pool.limit - (this.#pool.limit >> 2 || 1)) this.#room.wakeOne();
  }

  /** The first failure ends the map. What fails after that is for `join`, unless it is what it was told to stop with. */
  #fail(error: unknown): void {
    if (!this.#stopped) this.#stop({ error, failure: true });
    else if (!this.#pool.isCancellation(error, this.#controller.signal)) this.#pool.fail({}, error);
  }

  #stop(end?: EarlyEnd): void {
    if (this.#stopped || this.#over) return;
    this.#stopped = true;
    this.#pulling = false;
    this.#endEarly(end);
    this.#controller.abort(end?.error);
    this.#room.wakeOne();
    this.#end.wakeOne();
  }

  /** A failure counts from when it happens, and for as long as the reader has not taken it. */
  #endEarly(end: EarlyEnd | undefined): void {
    this.#earlyEnd = end;
    if (end?.failure) this.#pool.fail(this, end.error);
  }

  /** Waits for it, but not for ever where it still owes an item: such a source may be unable to close before. */
  async #close(source: Source<T>): Promise<void> {
    const closed = source.close().catch((error) => {
      if (this.#earlyEnd === undefined && !this.#over) this.#endEarly({ error, failure: true });
      else this.#fail(error);
    });
    if (!source.pending) return await closed;
    const line = new WaitQueue<void>();
    void closed.then(() => line.wakeOne());
    await line.wait(new PlainWaiter(MAPPING), { signal: undefined, timeout: CLOSING_TIME }).catch(() => {});
  }

  #finish(): void {
    this.#over = true;
    this.#watch.end();
    const told = this.#results.end(this.#earlyEnd);
    if (told) this.#earlyEnd = undefined;
    if (told || this.#leaving) this.#pool.taken(this);
    this.#pool.endMap(this);
  }

  #takeEarlyEnd(): EarlyEnd | undefined {
    const end = this.#earlyEnd;
    this.#earlyEnd = undefined;
    this.#pool.taken(this);
    return end;
  }
}

/** Watches a signal for as long as a map lasts. */
class Watch {
  readonly signal: AbortSignal | undefined;
  #registration: CancelRegistration | undefined;
  readonly #onAbort: (reason: unknown) => void;

  constructor(signal: AbortSignal | undefined, onAbort: (reason: unknown) => void) {
    this.signal = signal;
    this.#onAbort = onAbort;
  }

  begin(): void {
    const { signal } = this;
    if (signal !== undefined) this.#registration = onCancel({ signal }, () => this.#onAbort(reasonOf(signal)));
  }

  end(): void {
    this.#registration?.end();
  }
}
