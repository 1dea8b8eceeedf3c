/**
 * A number of places for functions to run in, and the line for them.
 *
 * @module
 */
import { checkBoolean, checkFunction, checkInteger, checkOptions, checkSignal } from "../internal/check.ts";
import { type MapFunction, type MapOptions, PoolMap } from "./map.ts";
import { checkSource, type MapSource } from "./map_source.ts";
import { PoolState } from "./state.ts";
import { RunningTask, type Task } from "./task.ts";
import type { WaitOptions } from "../types.ts";

/**
 * Runs functions, at most so many at a time, and holds back who brings more of them.
 *
 * Not for protecting a thing that several functions use (that is {@linkcode Lock} or {@linkcode Semaphore}), and not
 * for using several cores: everything runs in the thread that called. A function that waits for another one of the same
 * pool may wait for ever, because both need a place.
 *
 * No function is ever called synchronously, inside the call that brought it, and each runs in the asynchronous context
 * (`AsyncLocalStorage`) of that call. No failure is swallowed: what `run` and `map` throw is for who called them; the
 * failure of a task whose `result` nobody read is thrown by {@linkcode Pool.join}. So join every pool, or make it with
 * `await using`, which closes and joins it.
 *
 * @example
 * ```ts
 * import { Pool } from "@interlock/interlock";
 *
 * await using pool = new Pool(2);
 * const double = async (n: number) => await Promise.resolve(2 * n);
 * for await (const n of pool.map([1, 2, 3], double)) console.log(n); // 2, then 4, then 6
 * console.log(await pool.run(() => double(4))); // 8
 * const task = await pool.createTask(() => double(5)); // waits while the pool is full
 * console.log(await task.result); // 10
 * ```
 */
export class Pool implements AsyncDisposable {
  readonly #state: PoolState;

  /**
   * A pool with so many places.
   *
   * @param maxConcurrency How many functions may run at a time, from 1 up.
   * @throws {TypeError} when it is not a number.
   * @throws {RangeError} when it is not a whole number from 1 up.
   */
  constructor(maxConcurrency: number) {
    checkInteger(maxConcurrency, "maxConcurrency", 1);
    this.#state = new PoolState(maxConcurrency);
  }

  /**
   * How many functions may run at a time. When it is raised, those in line start as far as they fit now. When it is
   * lowered, what runs goes on, and the next ones wait until few enough are left.
   *
   * @throws {TypeError} when it is set to something that is not a number.
   * @throws {RangeError} when it is set to something else than a whole number from 1 up.
   */
  get limit(): number {
    return this.#state.limit;
  }

  set limit(limit: number) {
    checkInteger(limit, "limit", 1);
    this.#state.limit = limit;
  }

  /** How many places are taken. One is free again only when its function has really ended. */
  get active(): number {
    return this.#state.active;
  }

  /** How many are in line for a place. */
  get waiting(): number {
    return this.#state.waiting;
  }

  /**
   * Waits for a place, starts `fn` in it and resolves to the handle of it, at once. Awaiting it holds the producer back:
   * there are never more than the limit of unfinished tasks.
   *
   * `fn` may be synchronous; what it throws is the task's failure, never that of this call.
   *
   * **Fairness**: places are given strictly first come, first served, also between `createTask`, `run` and `map`.
   *
   * **Cancellation**: the options end the waiting for a place: the waiter leaves the line in O(1), and `fn` is not
   * called. They don't touch what has a place: that is what {@linkcode Task.cancel} and {@linkcode Pool.cancel} are for,
   * which abort the signal that `fn` is given.
   *
   * @param fn What to do.
   * @param options When to give up waiting for a place; `timeout` in milliseconds.
   * @throws {ClosedError} (as a rejection, like all of these) when the pool is closed.
   * @throws {TimeoutError} when the time is over.
   * @throws {TypeError} when `fn` is not a function, and for options of a wrong type.
   * @throws {RangeError} for a `timeout` that is NaN or negative.
   */
  async createTask<T>(fn: (signal: AbortSignal) => T | PromiseLike<T>, options?: WaitOptions): Promise<Task<T>> {
    checkFunction(fn, "fn");
    this.#state.admit("create task", options);
    // Awaited in any case: fn is never called synchronously.
    await (this.#state.tryTake() ? undefined : this.#state.wait("create task", options));
    return new RunningTask(this.#state, this.#state.begin(true), fn);
  }

  /**
   * Waits for a place, calls `fn` in it and resolves to what it returns. What `fn` throws is thrown here and only here.
   *
   * Nothing holds back who does not await: for more calls than fit into memory, use {@linkcode Pool.createTask} or
   * {@linkcode Pool.map}.
   *
   * **Fairness** and **Cancellation** as in {@linkcode Pool.createTask}; what runs is aborted by {@linkcode Pool.cancel}
   * only.
   *
   * @param fn What to do.
   * @param options When to give up waiting for a place; `timeout` in milliseconds.
   * @throws {ClosedError} (as a rejection, like all of these) when the pool is closed.
   * @throws {TimeoutError} when the time is over.
   * @throws {TypeError} when `fn` is not a function, and for options of a wrong type.
   * @throws {RangeError} for a `timeout` that is NaN or negative.
   */
  async run<T>(fn: (signal: AbortSignal) => T | PromiseLike<T>, options?: WaitOptions): Promise<T> {
    checkFunction(fn, "fn");
    this.#state.admit("run in pool", options);
    await (this.#state.tryTake() ? undefined : this.#state.wait("run in pool", options));
    // Who listens gets a signal of its own, so that nothing is left on a shared one; making one costs up to 2 µs.
    const controller = this.#state.begin(fn.length > 0);
    try {
      // Awaited here and not just returned, so that the stack of an error shows the caller.
      return await fn(controller.signal);
    } finally {
      this.#state.end(controller);
    }
  }

  /**
   * Calls `fn` for each item of `source`, as many at a time as the pool has places, and iterates over the results.
   *
   * Back-pressure at both ends: an item is pulled only when there is a place for it, and at most `limit` items are between
   * the source and the reader, counting those whose results wait to be read. Nothing happens before the first read. No
   * place is held while an asynchronous source is waited for, so a map may be the source of another map of the same pool.
   *
   * The first failure, of `fn` or of the source, ends the map: nothing more is pulled, the signal that `fn` is given
   * aborts, and when everything has ended the loop throws the error as it is, after the results that come before it and
   * are there. If nobody reads that far, {@linkcode Pool.join} throws it. Leaving the loop aborts what runs in the same
   * way, waits for its end and closes the source. What fails after that with another error than the signal's reason is
   * thrown by {@linkcode Pool.join}.
   *
   * A map that was begun is served to its end after {@linkcode Pool.close}, and {@linkcode Pool.join} waits for it: read
   * it to its end or leave it (`for await` does either).
   *
   * **Fairness**: each item is in line for its place with everybody else.
   *
   * **Cancellation**: when the signal aborts, everything ends as after a failure, and the reader is rejected with
   * `signal.reason`. A source that owes an item is given 100 ms to close, because it may be unable to.
   *
   * @param source Where the items come from; the promises in a synchronous one are awaited.
   * @param fn What to do with an item, its index and a signal, which is the same for all items.
   * @param options The order of the results, and what ends it early.
   * @returns The results, to be iterated over once.
   * @throws {TypeError} when `source` is not iterable, `fn` is not a function, and for options of a wrong type.
   * @throws {ClosedError} when the pool is closed; also as a rejection of the first read, if it was closed until then.
   */
  map<T, R>(
    source: MapSource<T>,
    fn: MapFunction<T, R>,
    options: MapOptions = {},
  ): AsyncIterableIterator<R, undefined, undefined> {
    checkSource(source);
    checkFunction(fn, "fn");
    checkMapOptions(options);
    this.#state.admit("map in pool", undefined);
    return new PoolMap(this.#state, source, fn, options);
  }

  /**
   * Waits until nothing runs, nobody is in line and every map that was begun is over. Then it throws the failures that
   * nobody took: those of tasks whose `result` was not read, and of maps that were not read so far. One is thrown as it
   * is, several in an AggregateError in the order in which they happened. Each is thrown by one `join` only, or by all
   * that were waiting together.
   *
   * It may be called at any time and several times; it does not close the pool. Not to be awaited inside of the pool's
   * own functions: they would wait for themselves.
   *
   * **Fairness**: all who wait go at once.
   *
   * **Cancellation**: on abort or time-out the waiter leaves in O(1), nothing is stopped, and no failure is lost.
   *
   * @param options When to give up; `timeout` in milliseconds.
   * @throws {AggregateError} when several have failed.
   * @throws {TimeoutError} when the time is over.
   * @throws {TypeError} for options of a wrong type.
   * @throws {RangeError} for a `timeout` that is NaN or negative.
   */
  async join(options?: WaitOptions): Promise<void> {
    const failures = await this.#state.join(options);
    if (failures.length === 1) throw failures[0];
    if (failures.length > 1) throw new AggregateError(failures, `Cannot join pool: ${failures.length} failures`);
  }

  /** Takes nothing new from now on. What runs, is in line or is a map that was begun goes on as before. */
  close(): void {
    this.#state.closed = true;
  }

  /**
   * Closes the pool, rejects who is in line with `reason`, and aborts the signal of everything that runs. The functions
   * are asked to end, not made to: {@linkcode Pool.join} waits until they have, and does not throw what failed with
   * `reason`. The first reason stays.
   *
   * @param reason Why; an AbortError unless given.
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

function checkMapOptions(options: MapOptions): void {
  checkOptions(options);
  const { ordered, signal } = options;
  if (ordered !== undefined) checkBoolean(ordered, "ordered");
  if (signal !== undefined) checkSignal(signal);
}
