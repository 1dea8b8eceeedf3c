/**
 * A number of slots for functions to run in, and the queue for them.
 *
 * @module
 */
import { callIn } from "../internal/call_in.ts";
import {
  checkBoolean,
  checkCount,
  checkFunction,
  checkInstance,
  checkOptions,
  checkSignal,
  must,
  readQueueOptions,
} from "../internal/check.ts";
import { isNamed } from "../internal/class_name.ts";
import { setDisposal } from "../internal/dispose.ts";
import { printAs } from "../internal/show.ts";
import type { StartQueue } from "../internal/start_queue.ts";
import { COPY, exposeState, stateOf } from "../internal/state.ts";
import { copySignature } from "../internal/wrap.ts";
import type { RateLimiter } from "../rate_limiter.ts";
import { PoolMap } from "./map.ts";
import { checkSource, type MapSource } from "./map_source.ts";
import type { MapFunction, MapJob, MapOptions, MapResult, MapResults, TaskOptions } from "./types.ts";
import { readPriority } from "./call.ts";
import { PoolState } from "./state.ts";
import { RunningTask, type Task } from "./task.ts";
import type { MaxWaitingOptions, NameOptions, WaitOptions } from "../types.ts";

/** Options of {@linkcode Pool}. */
export interface PoolOptions extends MaxWaitingOptions {
  /**
   * Limits how often functions start: each function needs a slot and a start from this limiter. Other pools and callers
   * may share the limiter.
   */
  readonly rate?: RateLimiter | undefined;
}

/**
 * Options of the static {@linkcode Pool.map}.
 *
 * @typeParam S Whether results are settled.
 */
export interface PoolMapOptions<S extends boolean = false> extends NameOptions {
  /** Ends the map: running functions are aborted, and the call rejects with `signal.reason`. */
  readonly signal?: AbortSignal | undefined;
  /** As in {@linkcode PoolOptions}. */
  readonly rate?: RateLimiter | undefined;
  /** As in {@linkcode MapOptions}. */
  readonly settled?: S | undefined;
}

const NEXT_TURN: Promise<void> = /* @__PURE__ */ Promise.resolve();

/**
 * Runs functions with limited concurrency, and applies backpressure to producers.
 *
 * A pool does not protect shared state: use {@linkcode Lock} or {@linkcode Semaphore}. It does not use several cores:
 * everything runs in the calling thread. A function that waits for another call of the same pool can deadlock, because
 * both need a slot.
 *
 * **Calls**: functions are never called synchronously. Each runs in the asynchronous context (`AsyncLocalStorage`) of
 * the call that passed it.
 *
 * **Failures**: no failure is swallowed. {@linkcode Pool.run} and `map` throw theirs to their caller, and
 * {@linkcode Pool.join} throws the failure of a task whose `result` was never read. So join every pool, or create it
 * with `await using`, which closes and joins it. A process warning (code `INTERLOCK_UNOBSERVED`, once for each pool)
 * reports a failure that stays unobserved for 10 s. A failure that is still unobserved when the process runs out of
 * work becomes an uncaught error.
 *
 * Not meant to be extended: wrap it in a class of your own.
 *
 * @example
 * ```ts
 * import { Pool } from "@interlock/interlock";
 *
 * await using pool = new Pool(2);
 * const double = async (n: number) => await Promise.resolve(2 * n);
 * for await (const n of pool.map([1, 2, 3], double)) {
 *   console.log(n); // 2, then 4, then 6
 * }
 * console.log(await pool.map([1, 2, 3], double).toArray()); // [ 2, 4, 6 ]
 * console.log(await pool.run(() => double(4))); // 8
 * // Waits while the pool is full:
 * const task = await pool.createTask(() => double(5));
 * console.log(await task.result); // 10
 * ```
 */
export class Pool implements AsyncDisposable {
  readonly #state: PoolState;

  static {
    setDisposal(Pool);
    exposeState(Pool, (pool) => pool.#state);
    printAs(Pool, "Pool", ["name", "limit", "active", "waiting", "closed"]);
  }

  /**
   * Creates a pool with a number of slots.
   *
   * @param limit The most functions that run at a time, 1 or more, or `Infinity`.
   * @param options A name, a limit of the rate at which functions start, and how many calls of `run` and `createTask`
   *   may wait. A map is never refused: its next item counts as a waiting call, and its other items stay in the source.
   * @throws {TypeError} when `limit` or `maxWaiting` is not a number, `name` is not a string, or `rate` is not a
   *   RateLimiter.
   * @throws {RangeError} when `limit` is neither a whole number of 1 or more nor `Infinity`, or `maxWaiting`
   *   neither a whole number of 0 or more nor `Infinity`.
   *
   * @example At most 5 at a time, and at most 100 starts in any minute
   * ```ts
   * import { Pool, RateLimiter } from "@interlock/interlock";
   *
   * const rate = new RateLimiter(100, 60_000);
   * await using pool = new Pool(5, { name: "api", rate });
   * console.log(await pool.run(() => "called")); // called
   * ```
   */
  constructor(limit: number, options?: PoolOptions) {
    checkCount(limit, "limit", 1);
    const queueOptions = readQueueOptions(options);
    const isLimiter = isNamed(options, "RateLimiter"); // it would pass for options without a rate
    must(!isLimiter, "options", "not be a RateLimiter: pass { rate }", options);
    const { rate } = options ?? {};
    const { queue, copy } = stateOf<{ queue?: StartQueue; copy?: typeof COPY } | undefined>(rate) ?? {};
    const remedy = " (await any other limiter in the function)";
    if (rate !== undefined) checkInstance(queue !== undefined && copy === COPY, rate, "rate", "RateLimiter", remedy);
    this.#state = new PoolState(limit, queue, queueOptions);
  }

  /**
   * Calls `fn` for each item of `source`, at most `limit` at a time, and resolves to the results in the order of the
   * items. It does what p-map does, in a pool of its own that you need not join.
   *
   * If several maps share slots, or to read results one by one, use {@linkcode Pool.prototype.map}.
   *
   * **Failure**: the first failure, of `fn` or of the source, aborts the signal of the running functions. Once they
   * have ended and the source is closed, the call rejects with that error. Later failures are dropped, because they
   * come from functions that have been aborted. With `settled: true`, a failure of `fn` does not end the map.
   *
   * **Fairness**: functions start in the order of the items.
   *
   * **Cancellation**: when the signal aborts, everything ends as after a failure, and the call rejects with
   * `signal.reason`. If a read of the source is pending at that time, the source may be unable to close: the map waits
   * for its end for at most 100 ms.
   *
   * @param source The items; the promises in a synchronous source are awaited.
   * @param limit The most functions that run at a time, 1 or more, or `Infinity`.
   * @param fn The function to call with an item, its index, and the signal that all items share.
   * @param options A signal that ends the map, a `rate` at which functions start, whether results are settled, and a
   *   name for error messages.
   * @throws The first failure, of `fn` or of the source.
   * @throws {signal.reason} when the signal aborts.
   * @throws {TypeError} when `source` is not iterable, `limit` not a number or `fn` not a function, or an option has a
   *   wrong type.
   * @throws {RangeError} when `limit` is neither a whole number of 1 or more nor `Infinity`.
   *
   * @example
   * ```ts
   * import { Pool } from "@interlock/interlock";
   *
   * const load = async (path: string) => {
   *   if (path === "/b") throw new Error("not found");
   *   return await Promise.resolve(`page ${path}`);
   * };
   * const pages = await Pool.map(["/a", "/c"], 2, load);
   * console.log(pages); // [ 'page /a', 'page /c' ]
   * const results = await Pool.map(["/a", "/b"], 2, load, { settled: true });
   * const statuses = results.map(({ status }) => status);
   * console.log(statuses); // [ 'fulfilled', 'rejected' ]
   * ```
   */
  static async map<T, R, S extends boolean = false>(
    source: MapSource<T>,
    limit: number,
    fn: MapFunction<T, R>,
    options?: PoolMapOptions<S>,
  ): Promise<MapResult<R, S>[]> {
    must(typeof limit !== "function", "limit", "be a number", limit, TypeError, ": write Pool.map(items, 5, fn)");
    return await new Pool(limit, options).map(source, fn, options).toArray();
  }

  /** The name shown in error messages and diagnostics. */
  get name(): string | undefined {
    return this.#state.name;
  }

  /**
   * The maximum number of functions that run at a time. Raising it starts queued calls at once. Lowering it stops no
   * running function: queued calls wait until fewer than `limit` functions run. 0 pauses the pool.
   *
   * @throws {TypeError} when the new value is not a number.
   * @throws {RangeError} when the new value is neither a whole number of 0 or more nor `Infinity`.
   */
  get limit(): number {
    return this.#state.slots.limit;
  }

  set limit(limit: number) {
    checkCount(limit, "limit", 0);
    this.#state.setLimit(limit);
  }

  /** The number of slots taken. A slot is free again once its function has ended, not when it was aborted. */
  get active(): number {
    return this.#state.slots.active;
  }

  /** The length of the queue. */
  get waiting(): number {
    return this.#state.slots.queue.size;
  }

  /** Whether the pool rejects new calls. */
  get closed(): boolean {
    return this.#state.closed;
  }

  /**
   * Waits for a slot, starts `fn` in it and resolves to a handle of the task. Awaiting this call applies backpressure:
   * there are never more unfinished tasks than slots.
   *
   * `fn` may be synchronous. An error of `fn` is the failure of the task, never of this call.
   *
   * **Fairness**: slots are granted strictly first come, first served across `createTask`, `run` and
   * `map`; calls with a greater `priority` come first.
   *
   * **Cancellation**: until `fn` starts, the options end the wait: the waiter leaves the queue in O(1), uses no start
   * of the `rate`, and `fn` is not called. While `fn` runs, an abort of `signal` is passed on to the signal of `fn`
   * with the same reason, as by {@linkcode Task.cancel} and {@linkcode Pool.cancel}; the task still settles as `fn`
   * does. `timeout` has no effect on a running `fn`.
   *
   * @param fn The function to run.
   * @param options When to stop waiting for a slot, with `timeout` in milliseconds, and the call's `priority`.
   * @throws {ClosedError} when the pool is closed.
   * @throws {QueueFullError} when `maxWaiting` calls are waiting already.
   * @throws {TimeoutError} when the timeout has passed.
   * @throws {signal.reason} when the signal aborts.
   * @throws {TypeError} when `fn` is not a function, or an option has a wrong type.
   * @throws {RangeError} when `timeout` is NaN or negative, `priority` is not finite, or `permits` is above the limit of
   *   the `rate`.
   *
   * @example
   * ```ts
   * import { Pool } from "@interlock/interlock";
   *
   * await using pool = new Pool(1);
   * const first = await pool.createTask(() => Promise.resolve("page 1"));
   * // Waits for the slot:
   * const second = await pool.createTask(() => Promise.resolve("page 2"));
   * console.log(first.status); // fulfilled
   * console.log(await first.result, await second.result); // page 1 page 2
   * ```
   */
  async createTask<T>(fn: (signal: AbortSignal) => T | PromiseLike<T>, options?: TaskOptions): Promise<Task<T>> {
    checkFunction(fn);
    const state = this.#state;
    const call = state.newCall(state.createTarget, options);
    await state.takeSlot(call);
    try {
      state.begin(call, true);
    } catch (error) {
      state.endCall(call);
      throw error;
    }
    return new RunningTask(state, call, fn);
  }

  /**
   * Waits for a slot, calls `fn` in it and resolves to its result. An error of `fn` is thrown here and only here.
   *
   * It applies backpressure only to callers that await it: for more calls than fit into memory, use
   * {@linkcode Pool.createTask} or `pool.map`.
   *
   * **Fairness** and **Cancellation** as in {@linkcode Pool.createTask}.
   *
   * @param fn The function to run.
   * @param options When to stop waiting for a slot, with `timeout` in milliseconds, and the call's `priority`.
   * @throws The error of `fn`.
   * @throws {ClosedError} when the pool is closed.
   * @throws {QueueFullError} when `maxWaiting` calls are waiting already.
   * @throws {TimeoutError} when the timeout has passed.
   * @throws {signal.reason} when the signal aborts.
   * @throws {TypeError} when `fn` is not a function, or an option has a wrong type.
   * @throws {RangeError} when `timeout` is NaN or negative, `priority` is not finite, or `permits` is above the limit of
   *   the `rate`.
   */
  run<T>(fn: (signal: AbortSignal) => T | PromiseLike<T>, options?: TaskOptions): Promise<T> {
    try {
      checkFunction(fn);
      return this.#state.run(this.#state.newCall(this.#state.runTarget, options), fn);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Wraps `fn` so that each call goes through {@linkcode Pool.run}. The wrapper has the parameters and `this` of
   * `fn`, and resolves to its result; `fn` gets the arguments of the call and no signal. It replaces p-limit's
   * `limitFunction` and es-toolkit's `limitAsync`, and a queued call takes less memory than with `run`.
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
   * const get = new Pool(2).wrap(async (url: string) => { // as wrap(fetch)
   *   await Promise.resolve();
   *   return `page ${url}`;
   * });
   * const pages = await Promise.all(["/a", "/b"].map((url) => get(url)));
   * console.log(pages); // [ 'page /a', 'page /b' ]
   * ```
   */
  wrap<T, A extends unknown[], R>(fn: (this: T, ...args: A) => R): (this: T, ...args: A) => Promise<Awaited<R>> {
    checkFunction(fn);
    const state = this.#state;
    return copySignature(fn, function (this: T, ...args: A) {
      try {
        const call = state.newCall(state.runTarget, undefined);
        // `then` keeps 530 bytes per queued call where `await` keeps 790 (Node 26); copying them takes most of the time
        // of many calls.
        return (state.takeSlot(call) ?? NEXT_TURN).then(async (): Promise<Awaited<R>> => {
          try {
            state.begin(call, false);
            return await callIn(call, () => Reflect.apply(fn, this, args), undefined);
          } finally {
            state.endCall(call);
          }
        });
      } catch (error) {
        return Promise.reject(error);
      }
    });
  }

  /**
   * Calls `fn` for each item of `source`, as many at a time as the pool has slots, and iterates over the results.
   *
   * **Order**: results come in the order of the items. With `ordered: false`, each comes as soon as it is ready.
   *
   * **Backpressure**: nothing happens before the first read. From then on, at most one item waits for its slot, and at
   * most `buffer` items run or are results that wait to be read. The map holds no slot while it waits for its source or
   * the `rate`, so it may be the source of another map of the same pool. `toArray()` reads everything: `buffer` has no
   * effect on it.
   *
   * **Failure**: the first failure, of `fn` or of the source, ends the map. It pulls no more items and aborts the
   * signal of `fn`. When everything has ended, the loop yields the results before the failure that are ready, then
   * throws the error as it is. Later failures, of the aborted functions and of closing the source, count as handled.
   * With `settled: true`, a failure of `fn` does not end the map, and the results are `PromiseSettledResult`s.
   *
   * **Leaving early**: when you leave the loop, the map aborts the running functions in the same way, waits for them to
   * end and closes the source. `break` and `return` then throw the failure that ended the map before, or the error of
   * closing the source. After a `throw` in the loop's body, the language drops that error.
   *
   * **Joining**: {@linkcode Pool.join} throws if you never read the map. It throws the map's failure if you call
   * `next()` by hand and then neither read on nor call `return()`. After {@linkcode Pool.close}, a map whose reading
   * began is still served to its end, and `join` waits for it. So read the map to its end, or leave its loop:
   * `for await` always does one of the two.
   *
   * **Fairness**: each item is queued for its slot with all other calls.
   *
   * **Cancellation**: when the signal aborts, everything ends as after a failure, and the read rejects with
   * `signal.reason`. If a read of the source is pending at that time, the source may be unable to close: the map waits
   * for its end for at most 100 ms.
   *
   * @param source The items; the promises in a synchronous source are awaited.
   * @param fn The function to call with an item, its index, and the signal that all items share.
   * @param options The order of the results, how far they may be ahead of the reader, a signal that ends the map, and
   *   whether results are settled.
   * @returns The results, to be read once: with `for await` or `toArray()`.
   * @throws {TypeError} when `source` is not iterable, `fn` is not a function, or an option has a wrong type.
   * @throws {RangeError} when `buffer` is neither a whole number of 1 or more nor `Infinity`, or `priority` is not
   *   finite.
   * @throws {ClosedError} when the pool is closed. If it closes between the call and the first read, that read rejects
   *   with this error.
   *
   * @example
   * ```ts
   * import { Pool } from "@interlock/interlock";
   *
   * await using pool = new Pool(8);
   * const words = ["a", "bb", "ccc"];
   * const lengths = await pool.map(words, (word) => word.length).toArray();
   * console.log(lengths); // [ 1, 2, 3 ]
   * ```
   */
  map<T, R, S extends boolean = false>(
    source: MapSource<T>,
    fn: MapFunction<T, R>,
    options?: MapOptions<S>,
  ): MapResults<MapResult<R, S>> {
    const job = checkMap(source, fn, options);
    this.#state.admit(this.#state.mapTarget);
    return new PoolMap(this.#state, job);
  }

  /**
   * Waits until no function runs, the queue is empty and every map whose reading began is over. Then it throws the
   * unobserved failures: of tasks with an unread `result`, of maps that were never read, and of maps whose reader has
   * not reached the failure. A single failure is thrown as it is; several come in an AggregateError, in the order in
   * which they happened. Each failure is thrown once: by one call of `join`, or by all calls that wait at the same
   * time. A pool keeps the first 1,000; the message shows how many more there were.
   *
   * You may call it at any time, repeatedly. It does not close the pool. Awaiting it inside the pool's own functions
   * deadlocks.
   *
   * **Fairness**: all waiting calls end at once.
   *
   * **Cancellation**: at an abort or a time-out, the waiter leaves in O(1). No function is stopped, and no failure is
   * lost.
   *
   * @param options When to stop waiting; `timeout` in milliseconds.
   * @throws The unobserved failure, if there is only one.
   * @throws {AggregateError} when there are several unobserved failures.
   * @throws {TimeoutError} when the timeout has passed.
   * @throws {signal.reason} when the signal aborts.
   * @throws {TypeError} when an option has a wrong type.
   * @throws {RangeError} when `timeout` is NaN or negative.
   *
   * @example
   * ```ts
   * import { Pool } from "@interlock/interlock";
   *
   * const pool = new Pool(2);
   * for (const name of ["a", "b"]) {
   *   await pool.createTask(() => {
   *     if (name === "a") throw new Error("the disk is full");
   *   });
   * }
   * await pool.join().catch(({ message }) => {
   *   console.log(message); // the disk is full
   * });
   * ```
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
   * Closes the pool, rejects queued calls with `reason`, and aborts the signals of all running functions. An abort asks
   * a function to end and does not force it: {@linkcode Pool.join} waits until all have ended, and does not throw
   * failures with `reason`. Cancelling again has no effect.
   *
   * @param reason The reason of the signals. Default: an AbortError.
   */
  cancel(reason?: unknown): void {
    this.#state.cancel(reason);
  }

  /** Calls {@linkcode Pool.close} and {@linkcode Pool.join}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    this.close();
    return this.join();
  }
}

/** Checks the arguments of `map`, and reads each option once. */
function checkMap<T, R, S extends boolean>(
  source: MapSource<T>,
  fn: MapFunction<T, R>,
  options: MapOptions<S> | undefined,
): MapJob<T, MapResult<R, S>> {
  checkSource(source);
  checkFunction(fn);
  const { ordered = true, buffer = 1, signal, settled = false } = checkOptions(options, "signal");
  checkBoolean(ordered, "ordered");
  checkCount(buffer, "buffer", 1);
  checkBoolean(settled, "settled");
  if (signal !== undefined) checkSignal(signal);
  const mapFn = (settled ? withSettledResults(fn) : fn) as MapFunction<T, MapResult<R, S>>;
  return { source, fn: mapFn, ordered, buffer, signal, priority: readPriority(options ?? {}) };
}

/** Returns the function of a map with settled results, which never fails. */
function withSettledResults<T, R>(fn: MapFunction<T, R>): MapFunction<T, PromiseSettledResult<Awaited<R>>> {
  return async (item, index, signal) => {
    try {
      return { status: "fulfilled", value: await fn(item, index, signal) };
    } catch (reason) {
      return { status: "rejected", reason };
    }
  };
}
