/**
 * Calling a user's function while something is held.
 *
 * @module
 */
import { type Hook, hook } from "./hook.ts";

/** Calls `fn` with its argument, while `call` holds. */
export function callIn<A, T>(call: object, fn: (argument: A) => T, argument: A): T {
  return hook === undefined ? fn(argument) : observed(hook, call, fn, argument);
}

/** On its own, because a closure makes every call of its function slower. */
function observed<A, T>(hook: Hook, call: object, fn: (argument: A) => T, argument: A): T {
  return hook.run(call, () => fn(argument));
}
