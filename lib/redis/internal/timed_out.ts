/**
 * The error of a call whose time is over. Invariant: the same words as those of the local primitives.
 *
 * @module
 */
import { TimeoutError } from "../../errors.ts";
import { hook } from "../../internal/hook.ts";
import type { ResourceSpec } from "./resource_spec.ts";

/** @param cause The failure of the connection, if that was the obstacle. */
export function timedOut({ what, resource }: ResourceSpec, timeout: number, cause?: unknown): TimeoutError {
  const holder = hook === undefined ? "" : hook.holderOf(resource);
  const message = `Cannot acquire ${what}: timed out after ${timeout} ms${holder}`;
  return new TimeoutError(message, cause === undefined ? undefined : { cause });
}
