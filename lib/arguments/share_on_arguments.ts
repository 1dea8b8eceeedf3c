/**
 * Calls with equal arguments share one run.
 *
 * @module
 */
import { checkInstance } from "../internal/check.ts";
import { SingleFlight } from "../single_flight.ts";
import { checkOnArguments, type KeyPart, type LockedOnArguments, onArguments } from "./on_arguments.ts";

/** Options of {@linkcode shareOnArguments}. */
export interface ShareOnArgumentsOptions {
  /** Functions with the same name share their runs. Without a name, only calls of the same function do. */
  readonly name?: string | undefined;
  /**
   * Milliseconds after which a call rejects with a {@linkcode TimeoutError}; the run goes on while other calls wait.
   */
  readonly timeout?: number | undefined;
}

/** As {@linkcode LockedOnArguments}. */
export type SharedOnArguments<A extends readonly unknown[]> = LockedOnArguments<A>;

/**
 * Shares one run among calls of a function with equal selected arguments: the first call runs, and further calls get
 * its result or error while it lasts. The counterpart of {@linkcode lockOnArguments}, with the same keys. A wrapper for
 * functions and a standard decorator for methods.
 *
 * Two functions never share runs unless both are given the same `name`. The object that a method is called on is not
 * part of the key, so do not use it for methods whose result depends on `this`.
 *
 * It is not a cache: after a run has ended, the next call starts a new one. Not re-entrant: a function that awaits
 * itself with the same arguments deadlocks. Not for generator functions or legacy decorators
 * (`experimentalDecorators`).
 *
 * **Fairness**: all calls that share a run are settled at once, and resume in their order.
 *
 * **Cancellation**: by `timeout` only; to cancel by a signal, use {@linkcode SingleFlight} itself.
 *
 * @param flights Where the runs are.
 * @param select Which arguments count: their positions from 0, or a function that makes the key from all of them.
 *   It distinguishes null, undefined, NaN, bigints, numbers, strings and booleans.
 * @param options The function's name, and how long a call may wait.
 * @throws {TypeError} when an argument has a wrong type; when the SingleFlight is of another copy of this module; when
 *   the function is a generator function; and when applied as a legacy decorator. A call rejects with it when a
 *   selected argument is an object: pass a key function instead.
 * @throws {RangeError} when a position is not a whole number of 0 or more, `name` is empty or `timeout` is negative or
 *   NaN.
 * @example
 * ```ts
 * import { shareOnArguments, SingleFlight } from "@interlock/interlock";
 *
 * let queries = 0;
 * const load = shareOnArguments(new SingleFlight<string>(), [0])(async (id: number, _trace: string) => {
 *   queries++;
 *   return await Promise.resolve(`user ${id}`);
 * });
 * console.log(await Promise.all([load(1, "a"), load(1, "b")]), queries); // [ 'user 1', 'user 1' ] 1
 * ```
 */
export function shareOnArguments<A extends readonly unknown[] = []>(
  flights: SingleFlight<string>,
  select: readonly number[] | ((...args: A) => KeyPart | readonly KeyPart[]),
  options: ShareOnArgumentsOptions = {},
): SharedOnArguments<A> {
  checkInstance(flights instanceof SingleFlight, flights, "flights", "SingleFlight");
  const checked = checkOnArguments(select, options);
  return onArguments("shareOnArguments", select, checked, (key, fn, limits) => flights.run(key, fn, limits));
}
