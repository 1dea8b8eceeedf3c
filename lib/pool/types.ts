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
   * Where the call waits: before those with a smaller number, behind those with the same or a greater one. Any finite
   * number. Functions that run are not touched. Calls of a small priority may starve: there may always be others before
   * them. Default: 0.
   */
  readonly priority?: number | undefined;
  /**
   * In a pool with a `rate`: how many starts the call takes of it; for a rate of several budgets also a list with a number
   * for each, such as requests and tokens a minute. Default: 1.
   */
  readonly permits?: number | readonly number[] | undefined;
}

/** Options of {@linkcode Pool.map}. */
export interface MapOptions {
  /** Whether the results come in the order of the items, or else as they are ready. Default: true. */
  readonly ordered?: boolean | undefined;
  /**
   * How many results, ready or in the making, may be ahead of the reader: a whole number of 1 or more, or `Infinity` for
   * no back-pressure. Default: the pool's `limit`, which is also the minimum.
   */
  readonly buffer?: number | undefined;
  /** Ends the map early: running functions are aborted, and the reader is rejected with `signal.reason`. */
  readonly signal?: AbortSignal | undefined;
  /** The place of its items among other calls that wait: see {@linkcode TaskOptions}. Default: 0. */
  readonly priority?: number | undefined;
}

/** The function that a map calls for each item. */
export type MapFunction<T, R> = (value: T, index: number, signal: AbortSignal) => R | PromiseLike<R>;

/** The results of a {@linkcode Pool.map}, to be read once: with `for await`, or all at once. */
export interface MapResults<R> extends AsyncIterableIterator<R, undefined, undefined> {
  /**
   * Reads all results, in the order of the items also with `ordered: false`, and without back-pressure: `buffer` has no
   * effect. At the first failure, everything that runs is aborted; when it has ended, the error is thrown.
   */
  toArray(): Promise<R[]>;
}

/** One call of {@linkcode Pool.map}: its arguments, checked. */
export interface MapJob<T, R> {
  readonly source: MapSource<T>;
  readonly fn: MapFunction<T, R>;
  readonly ordered: boolean;
  readonly buffer: number;
  readonly signal: AbortSignal | undefined;
  readonly priority: number;
}
