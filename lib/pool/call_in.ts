/**
 * Calling a function in its slot.
 *
 * @module
 */
import { type Hook, hook } from "../internal/hook.ts";
import type { SlotCall } from "./slots.ts";

/** Calls `fn` in the slot of `call`. */
export function callIn<T>(call: SlotCall, fn: (signal: AbortSignal) => T, signal: AbortSignal): T {
  return hook === undefined ? fn(signal) : observed(hook, call, fn, signal);
}

/** On its own, because a closure makes every call of its function slower. */
function observed<T>(hook: Hook, call: SlotCall, fn: (signal: AbortSignal) => T, signal: AbortSignal): T {
  return hook.run(call, () => fn(signal));
}
