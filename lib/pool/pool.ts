/**
 * A number of slots for functions to run in, and the queue for them.
 *
 * @module
 */
import {
  checkBoolean,
  checkCount,
  checkFunction,
  checkInstance,
  checkOptions,
  checkSignal,
  must,
  option,
  readMaxWaiting,
  readName,
} from "../internal/check.ts";
import { setDisposal } from "../internal/dispose.ts";
import { isNamed } from "../internal/class_name.ts";
import { show } from "../internal/show.ts";
import { alike } from "../internal/wrap.ts";
import { RateLimiter, startQueueOf } from "../rate_limiter.ts";
import { assertSoundMap, PoolMap } from "./map.ts";
import { checkSource, type MapSource } from "./map_source.ts";
import type { MapFunction, MapJob, MapOptions, MapResults, TaskOptions } from "./types.ts";
import type { SlotCall } from "./slots.ts";
import { assertSoundPoolState, PoolState, readPriority } from "./state.ts";
import { RunningTask, type Task } from "./task.ts";
import type { MaxWaitingOptions, WaitOptions } from "../types.ts";

/** Options of {@linkcode Pool}. */
export interface PoolOptions extends MaxWaitingOptions {
  /**
   * Limits how often functions start: each needs a slot and a start allowed by this limiter. Other pools and callers may
   * share it.
   */
  readonly rate?: RateLimiter | undefined;
}

/** The private state, for {@linkcode assertSoundPool}, which bundlers drop because it is no method. */
let stateOf: (pool: Pool) => PoolState;

/**
 * Runs functions with limited concurrency, and applies back-pressure to producers.
 *
 * Not for protecting what several functions use (that is {@linkcode Lock} or {@linkcode Semaphore}), and not
 * for using several cores: everything runs in the thread that called. Waiting inside a function for another call of the
 * same pool can deadlock: both need a slot.
 *
 * No function is ever called synchronously, inside the call that passed it, and each runs in the asynchronous context
 * (`AsyncLocalStorage`) of that call. No failure is swallowed: `run` and `map` throw theirs to their caller, and
 * {@linkcode Pool.join} throws the failure of a task whose `result` was never read. So join every pool, or create it
 * with `await using`, which closes and joins it. A failure that has waited 10 s for that is reported by a process warning
 * (code `INTERLOCK_UNOBSERVED`, once for each pool); one that is left when the process has run out of work becomes an
 * uncaught error.
 *
 * Not meant to be extended: wrap it in a class of your own.
 *
 * @example
 * ```ts
 * import { Pool } from "@interlock/interlock";
 *
 * await using pool = new Pool(2);
 * const double = async (n: number) => await Promise.resolve(2 * n);
 * for await (const n of pool.map([1, 2, 3], double)) console.log(n); // 2, then 4, then 6
 * console.log(await pool.map([1, 2, 3], double).toArray()); // [ 2, 4, 6 ]
 * console.log(await pool.run(() => double(4))); // 8
 * const task = await pool.createTask(() => double(5)); // waits while the pool is full
 * console.log(await task.result); // 10
 * ```
 */
export class Pool implements AsyncDisposable {
  readonly #state: PoolState;

  static {
    setDisposal(Pool);
    stateOf = (pool) => pool.#state;
    show(Pool, "Pool", ["name", "limit", "active", "waiting", "closed"]);
  }

  /**
   * A pool with a number of slots.
   *
   * @param maxConcurrency The most functions that run at a time, 1 or more, or `Infinity`.
   * @param options A name, a limit of the rate at which functions start, and how many calls of `run` and `createTask` may
   *   wait. The items of a map are never refused: the next one of each map counts, the others wait in their source.
   * @throws {TypeError} when `maxConcurrency` or `maxWaiting` is not a number, `name` not a string or `rate` not a
   *   RateLimiter.
   * @throws {RangeError} when `maxConcurrency` is neither a whole number of 1 or more nor `Infinity`, or `maxWaiting`
   *   neither a whole number of 0 or more nor `Infinity`.
   *
   * @example At most 5 at a time, and at most 100 starts in any minute
   * ```ts
   * import { Pool, RateLimiter } from "@interlock/interlock";
   *
   * await using pool = new Pool(5, { name: "api", rate: new RateLimiter(100, 60_000) });
   * console.log(await pool.run(() => "called")); // called
   * ```
   */
  constructor(maxConcurrency: number, options?: PoolOptions) {
    checkCount(maxConcurrency, "maxConcurrency", 1);
    const name = readName(options);
    const isRate = isNamed(options, "RateLimiter"); // it would pass for options without a rate
    must(!isRate, "options", "not be a RateLimiter itself: pass it as { rate }", options);
    const rate = option(options, "rate");
    if (rate !== undefined) checkInstance(rate, RateLimiter, "rate", "RateLimiter");
    this.#state = new PoolState(maxConcurrency, name, rate && startQueueOf(rate), readMaxWaiting(options));
  }

  /** Its name, which error messages and diagnostics show. */
  get name(): string | undefined {
    return this.#state.name;
  }

  /**
   * The most functions that run at a time. When it is raised, queued calls start as far as there are slots. When it is
   * lowered, running functions go on, and the next ones wait until few enough are left; 0 pauses the pool.
   *
   * @throws {TypeError} when it is set to something that is not a number.
   * @throws {RangeError} when it is set to something that is neither a whole number of 0 or more nor `Infinity`.
   */
  get limit(): number {
    return this.#state.slots.limit;
  }

  set limit(limit: number) {
    checkCount(limit, "limit", 0);
    this.#state.setLimit(limit);
  }

  /** How many slots are taken. A slot is free again only when its function has really ended. */
  get active(): number {
    return this.#state.slots.active;
  }

  /** The length of the queue. */
  get waiting(): number {
    return this.#state.slots.waiting;
  }

  /** Whether it takes no more calls. */
  get closed(): boolean {
    return this.#state.closed;
  }

  /**
   * Waits for a slot, starts `fn` in it and resolves to its handle. Awaiting that applies back-pressure: there are never
   * more unfinished tasks than slots.
   *
   * `fn` may be synchronous. An error of `fn` is the task's failure, never that of this call.
   *
   * **Fairness**: slots are granted strictly first come, first served, also between `createTask`, `run` and `map`; calls
   * with a greater `priority` come first.
   *
   * **Cancellation**: until `fn` starts, the options end the wait: the waiter leaves the queue in O(1), uses no start of
   * the `rate` up, and `fn` is not called. While `fn` runs, `signal` aborts the signal that `fn` gets with the same
   * reason, as {@linkcode Task.cancel} and {@linkcode Pool.cancel} do; the task still settles as `fn` does. `timeout`
   * has no effect then.
   *
   * @param fn The function to run.
   * @param options When to stop waiting for a slot, with `timeout` in milliseconds, and the call's `priority`.
   * @throws {ClosedError} (as a rejection, like all of these) when the pool is closed.
   * @throws {QueueFullError} when `maxWaiting` calls are waiting already.
   * @throws {TimeoutError} when the time is over.
   * @throws {TypeError} when `fn` is not a function, and for options of a wrong type.
   * @throws {RangeError} for a `timeout` that is NaN or negative, and for a `priority` that is not finite.
   */
  async createTask<T>(fn: (signal: AbortSignal) => T | PromiseLike<T>, options?: TaskOptions): Promise<Task<T>> {
    checkFunction(fn, "fn");
    const state = this.#state;
    const call = state.call(state.creating, options, true) as SlotCall;
    await state.slot(call);
    try {
      state.begin(call);
    } catch (error) {
      state.end(call);
      throw error;
    }
    return new RunningTask(state, call, fn);
  }

  /**
   * Waits for a slot, calls `fn` in it and resolves to its result. An error of `fn` is thrown here and only here.
   *
   * There is no back-pressure unless the caller awaits: for more calls than fit into memory, use
   * {@linkcode Pool.createTask} or {@linkcode Pool.map}.
   *
   * **Fairness** and **Cancellation** as in {@linkcode Pool.createTask}.
   *
   * @param fn The function to run.
   * @param options When to stop waiting for a slot, with `timeout` in milliseconds, and the call's `priority`.
   * @throws {ClosedError} (as a rejection, like all of these) when the pool is closed.
   * @throws {QueueFullError} when `maxWaiting` calls are waiting already.
   * @throws {TimeoutError} when the time is over.
   * @throws {TypeError} when `fn` is not a function, and for options of a wrong type.
   * @throws {RangeError} for a `timeout` that is NaN or negative, and for a `priority` that is not finite.
   */
  async run<T>(fn: (signal: AbortSignal) => T | PromiseLike<T>, options?: TaskOptions): Promise<T> {
    checkFunction(fn, "fn");
    const state = this.#state;
    const call = state.call(state.running, options, fn.length > 0);
    await state.slot(call);
    try {
      // Awaited here and not just returned, so that the stack of an error shows the caller. There are few variables and
      // expressions here, because a queued call keeps memory for each.
      return await state.start(call, fn);
    } finally {
      state.end(call);
    }
  }

  /**
   * Returns a function each call of which is a {@linkcode Pool.run} of `fn`: with the parameters, `this` and result of
   * `fn`, which gets the arguments of the call and nothing else. It takes the place of p-limit's `limitFunction` and
   * es-toolkit's `limitAsync`, and is the quickest way through a pool.
   *
   * The stack of an error that `fn` throws before its first `await` does not show the caller.
   *
   * **Fairness** as in {@linkcode Pool.run}.
   *
   * **Cancellation**: by {@linkcode Pool.cancel}, until `fn` starts.
   *
   * @param fn The function to wrap. A generator function is refused: calling it runs nothing.
   * @throws {TypeError} when `fn` is not a function.
   * @example
   * ```ts
   * import { Pool } from "@interlock/interlock";
   *
   * const get = new Pool(2).wrap(async (url: string) => await Promise.resolve(`page ${url}`)); // as wrap(fetch)
   * console.log(await Promise.all(["/a", "/b", "/c"].map((url) => get(url)))); // [ 'page /a', 'page /b', 'page /c' ]
   * ```
   */
  wrap<This, A extends unknown[], R>(
    fn: (this: This, ...args: A) => R,
  ): (this: This, ...args: A) => Promise<Awaited<R>> {
    checkFunction(fn, "fn");
    const state = this.#state;
    return alike(fn, function (this: This, ...args: A) {
      return state.apply(fn, this, args);
    });
  }

  /**
   * Calls `fn` for each item of `source`, as many at a time as the pool has slots, and iterates over the results.
   *
   * Back-pressure at both ends: an item is pulled only when there is a slot for it, and at most `buffer` items are between
   * the source and the reader, counting those whose results wait to be read. Nothing happens before the first read; a map
   * that was never read makes {@linkcode Pool.join} throw. No slot is held while an asynchronous source or the `rate` is
   * waited for, so a map may be the source of another map of the same pool.
   *
   * The first failure, of `fn` or of the source, ends the map: nothing more is pulled, the signal that `fn` gets aborts,
   * and when everything has ended the loop throws the error as it is, after the results that come before it and are
   * ready. The failures of functions that were told to stop, and of the end of the source, are observed with it. If the
   * reader does not come that far, {@linkcode Pool.join} throws the first one. Leaving the loop aborts what runs in the
   * same way, waits for its end and closes the source, whose failure the loop then throws.
   *
   * A map whose reading began is served to its end after {@linkcode Pool.close}, and {@linkcode Pool.join} waits for it:
   * read it to its end or leave it (`for await` does either).
   *
   * **Fairness**: each item is queued for its slot with all other calls.
   *
   * **Cancellation**: when the signal aborts, everything ends as after a failure, and the reader is rejected with
   * `signal.reason`. A source that still owes an item has 100 ms to close, because it may be unable to.
   *
   * @param source The items; the promises in a synchronous source are awaited.
   * @param fn The function to call with an item, its index and a signal, which is the same for all items.
   * @param options The order of the results, how far they may be ahead of the reader, and a signal that ends the map.
   * @returns The results, to be read once: with `for await` or `toArray()`.
   * @throws {TypeError} when `source` is not iterable, `fn` is not a function, and for options of a wrong type.
   * @throws {RangeError} for a `buffer` that is neither a whole number of 1 or more nor `Infinity`, and for a
   *   `priority` that is not finite.
   * @throws {ClosedError} when the pool is closed; also as a rejection of the first read, if it was closed until then.
   *
   * @example
   * ```ts
   * import { Pool } from "@interlock/interlock";
   *
   * await using pool = new Pool(8);
   * const lengths = await pool.map(["a", "bb", "ccc"], (word) => word.length).toArray();
   * console.log(lengths); // [ 1, 2, 3 ]
   * ```
   */
  map<T, R>(source: MapSource<T>, fn: MapFunction<T, R>, options?: MapOptions): MapResults<R> {
    const job = checkMap(source, fn, options);
    this.#state.admit(this.#state.mapping);
    return new PoolMap(this.#state, job);
  }

  /**
   * Waits until nothing runs, the queue is empty and every map whose reading began is over. Then it throws the failures
   * that were not observed: those of tasks whose `result` was not read, of maps that were not read so far, and of maps
   * that were never read at all. One is thrown as it is, several in an AggregateError in the order in which they
   * happened. Each is thrown by one `join` only, or by all that were waiting together. A pool keeps the first 1,000; the
   * message shows how many more there were.
   *
   * It may be called at any time and several times; it does not close the pool. Awaiting it inside the pool's own
   * functions deadlocks.
   *
   * **Fairness**: all waiting calls end at once.
   *
   * **Cancellation**: on abort or time-out the waiter leaves in O(1), nothing is stopped, and no failure is lost.
   *
   * @param options When to stop waiting; `timeout` in milliseconds.
   * @throws {AggregateError} when several have failed.
   * @throws {TimeoutError} when the time is over.
   * @throws {TypeError} for options of a wrong type.
   * @throws {RangeError} for a `timeout` that is NaN or negative.
   */
  async join(options?: WaitOptions): Promise<void> {
    const { errors, more } = await this.#state.join(options);
    if (errors.length + more === 0) return;
    if (errors.length === 1 && more === 0) throw errors[0];
    const others = more === 0 ? "" : ` and ${more} more`;
    throw new AggregateError(errors, `Cannot join ${this.#state.title}: ${errors.length} failures${others}`);
  }

  /** Rejects new calls from now on. Running functions, queued calls and maps whose reading began go on as before. */
  close(): void {
    this.#state.closed = true;
  }

  /**
   * Closes the pool, rejects queued calls with `reason`, and aborts the signals of all running functions. These are asked
   * to end, not forced to: {@linkcode Pool.join} waits until they have, and does not throw failures with `reason`. The
   * first reason stays.
   *
   * @param reason The reason of the signals. Default: an AbortError.
   */
  cancel(reason?: unknown): void {
    this.#state.cancel(reason);
  }

  /** {@linkcode Pool.close} and {@linkcode Pool.join}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    this.close();
    return this.join();
  }
}

/** Throws unless the invariants hold; for tests. */
export function assertSoundPool(pool: Pool): void {
  const state = stateOf(pool);
  assertSoundPoolState(state);
  for (const map of state.maps) assertSoundMap(map);
}

/** Reads each option once. */
function checkMap<T, R>(source: MapSource<T>, fn: MapFunction<T, R>, options: MapOptions | undefined): MapJob<T, R> {
  checkSource(source);
  checkFunction(fn, "fn");
  checkOptions(options);
  const ordered = option(options, "ordered", true);
  const buffer = option(options, "buffer", 1);
  const signal = option(options, "signal");
  checkBoolean(ordered, "ordered");
  checkCount(buffer, "buffer", 1);
  if (signal !== undefined) checkSignal(signal);
  return { source, fn, ordered, buffer, signal, priority: options === undefined ? 0 : readPriority(options) };
}
