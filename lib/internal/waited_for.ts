/**
 * The targets of waits, and the messages of errors about them: "Cannot ⟨acquire lock "users"⟩: ⟨state⟩".
 *
 * @module
 */
import { timeoutError } from "./cancellation.ts";
import { quote, withName } from "./check.ts";
import { hook, type Resource } from "./hook.ts";
import { ClosedError, type TimeoutError } from "../errors.ts";

/** The target of a wait: a primitive, a side or a key of one. */
export interface WaitedFor extends Resource {
  /** What a call does, as in "Cannot ⟨wait for event⟩: timed out". Default: to acquire its noun. */
  readonly action?: string;
}

/** The kind of an inner wait, which observers do not see. */
export const UNOBSERVED = "";

/** Describes a target that is waited for but never held. */
export function describe(kind: string, action: string, name?: string): WaitedFor {
  return { kind, name, isHeld: false, action };
}

function nounOf({ kind, noun = kind.replace(/-/g, " ") }: WaitedFor): string {
  return noun;
}

/** The beginning of an error message: `Cannot acquire lock "users" for key 42`. */
export function cannot(target: WaitedFor): string {
  return `Cannot ${operationOf(target)}`;
}

/** What a call does: `acquire lock "users" for key 42`. */
export function operationOf(target: WaitedFor): string {
  const { action = `acquire ${nounOf(target)}`, name, key } = target;
  return withName(action, name) + (key === undefined ? "" : ` for key ${quote(key)}`);
}

/** The error of a call for a target that is closed for good. */
export function closedError(target: WaitedFor): ClosedError {
  return new ClosedError(`${cannot(target)}: ${nounOf(target)} is closed`);
}

/** The error of a wait that timed out. Diagnostics add the holder to its message. */
export function waitTimeoutError(target: WaitedFor, timeout: number): TimeoutError {
  return timeoutError(operationOf(target), timeout, hook?.holderText(target));
}
