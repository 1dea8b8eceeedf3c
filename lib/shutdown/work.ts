/**
 * User work that counts as in flight: promises and functions from the call of `track` until they settle.
 *
 * @module
 */
import { checkFunction, isThenable, must } from "../internal/check.ts";
import { follow } from "../internal/follow.ts";
import { Task } from "./in_flight.ts";
import type { ShutdownState } from "./shutdown_state.ts";

/** A promise, or a function to call with the shutdown's signal. */
export type Work = PromiseLike<unknown> | ((signal: AbortSignal) => unknown);

export function checkWork(work: unknown): void {
  must(typeof work === "function" || isThenable(work), "work", "be a promise or a function", work);
  if (typeof work === "function") checkFunction(work, "work");
}

/** Returns the same promise, or one for the function's result. */
export function countWork({ inFlight, signal }: ShutdownState, work: Work, label?: string): PromiseLike<unknown> {
  const isFunction = typeof work === "function";
  const entry = new Task(label ?? ((isFunction && work.name) || "task"));
  const drop = () => inFlight.delete(entry);
  if (!isFunction) follow(work, drop, drop); // before counting it, because this may throw
  inFlight.add(entry);
  return isFunction ? called(work, signal, drop) : work;
}

/** A separate async function, so that the run-time reports an unhandled rejection. */
async function called<T>(work: (signal: AbortSignal) => T, signal: AbortSignal, drop: () => void): Promise<Awaited<T>> {
  try {
    return await work(signal);
  } finally {
    drop();
  }
}
