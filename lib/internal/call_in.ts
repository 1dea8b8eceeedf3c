/**
 * Calls a user's function while a hold lasts.
 *
 * @module
 */
import { checkFunction } from "./check.ts";
import { type Hook, hook } from "./hook.ts";

/** Calls `fn` with its argument while `call` holds. */
export function callIn<A, T>(call: object, fn: (argument: A) => T, argument: A): T {
  return hook === undefined ? fn(argument) : observed(hook, call, fn, argument);
}

/** A function of its own: a closure would slow down every call. */
function observed<A, T>(hook: Hook, call: object, fn: (argument: A) => T, argument: A): T {
  return hook.run(call, () => fn(argument));
}

/**
 * Calls `fn` while holding, and releases when it has ended, even with an error. An error of `fn` is never replaced by
 * an error of the release. For holds that end asynchronously.
 */
export async function runHoldingRemotely<G extends { release(): Promise<unknown> }, T>(
  acquire: () => Promise<G>,
  fn: (guard: G) => T | PromiseLike<T>,
  release: (guard: G) => Promise<unknown> = (guard) => guard.release(),
): Promise<T> {
  checkFunction(fn);
  const guard = await acquire();
  let result: T;
  try {
    result = await callIn(guard, fn, guard);
  } catch (error) {
    await release(guard).catch(() => {}); // the hold expires
    throw error;
  }
  await release(guard);
  return result;
}
