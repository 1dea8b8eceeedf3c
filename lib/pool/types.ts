/**
 * The public types of the calls of a pool.
 *
 * @module
 */
import type { MapSource } from "./map_source.ts";
import type { WaitOptions } from "../types.ts";

/** Options of {@linkcode Pool.run} and {@linkcode Pool.createTask}. */
export interface TaskOptions extends WaitOptions {
  /**
   * Ends the wait when it aborts: the call rejects with `signal.reason`. While the function runs, an abort is passed on
   * to the signal of the function, with the same reason.
   */
  readonly signal?: AbortSignal | undefined;
  /**
   * The call's position in the queue: before calls with a smaller number, behind calls with the same or a greater
   * number. Any finite number. Running functions are not affected. Calls with a small priority may starve. Default: 0.
   */
  readonly priority?: number | undefined;
  /**
   * The number of starts that the call takes from the pool's `rate`. For a rate with several budgets, it may be a list
   * with a number for each, such as requests and tokens a minute. Default: 1.
   */
  readonly permits?: number | readonly number[] | undefined;
}

/**
 * Options of a map.
 *
 * @typeParam S Whether results are settled.
 */
export interface MapOptions<S extends boolean = false> {
  /** Whether results come in the order of the items, rather than as they become ready. Default: true. */
  readonly ordered?: boolean | undefined;
  /**
   * How many results, ready or pending, may be ahead of the reader: a whole number of 1 or more, or
   * `Infinity` for no backpressure. Default and minimum: the pool's `limit`.
   */
  readonly buffer?: number | undefined;
  /** Ends the map early: running functions are aborted, and the read rejects with `signal.reason`. */
  readonly signal?: AbortSignal | undefined;
  /** The position of its items in the queue, as in {@linkcode TaskOptions}. Default: 0. */
  readonly priority?: number | undefined;
  /**
   * Whether results are `PromiseSettledResult`s, as from `Promise.allSettled`: a failing function does not end the map.
   * A failure of the source still does. Default: false.
   */
  readonly settled?: S | undefined;
}

/** A result of a map: of type `R`, or settled if `S` is true. */
export type MapResult<R, S extends boolean> = S extends true ? PromiseSettledResult<R> : R;

/**
 * The function that a map calls for each item.
 *
 * @param value The item.
 * @param index Its position in the source, from 0.
 * @param signal Aborts when the map ends early: by its own signal, by a failure, by `Pool.cancel`, or because its
 * reader stops.
 */
export type MapFunction<T, R> = (value: T, index: number, signal: AbortSignal) => R | PromiseLike<R>;

/** Results of {@linkcode Pool#map | pool.map}, to be read once: with `for await` or `toArray()`. */
export interface MapResults<R> extends AsyncIterableIterator<R> {
  /** The next result, as `for await` reads it. */
  next(): Promise<IteratorResult<R, undefined>>;
  /**
   * Reads all results, in the order of the items even with `ordered: false`, and without backpressure: `buffer` has no
   * effect. The first failure aborts all running functions; once they have ended, the error is thrown.
   */
  toArray(): Promise<R[]>;
}

/** The checked arguments of one {@linkcode Pool.map} call. */
export interface MapJob<T, R> {
  readonly source: MapSource<T>;
  readonly fn: MapFunction<T, R>;
  readonly ordered: boolean;
  readonly buffer: number;
  readonly signal: AbortSignal | undefined;
  readonly priority: number;
}
