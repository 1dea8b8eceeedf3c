/**
 * Calls a user's function while a hold lasts.
 *
 * @module
 */
import { type Hook, hook } from "./hook.ts";

/** Calls `fn` with its argument while `call` holds. */
export function callIn<A, T>(call: object, fn: (argument: A) => T, argument: A): T {
  return hook === undefined ? fn(argument) : observed(hook, call, fn, argument);
}

/** A function of its own: a closure would slow down every call. */
function observed<A, T>(hook: Hook, call: object, fn: (argument: A) => T, argument: A): T {
  return hook.run(call, () => fn(argument));
}
