/**
 * The calls of a platform lock, or of one side.
 *
 * @module
 */
import { callIn } from "../internal/call_in.ts";
import { admit, checkFunction } from "../internal/check.ts";
import type { WaitOptions } from "../types.ts";
import { type WebGuard, WebHold, webTimeoutError } from "./guard.ts";
import type { WebLockSpec } from "./options.ts";

export async function acquire(spec: WebLockSpec, options: WaitOptions | undefined): Promise<WebGuard> {
  const limits = admit(options);
  const guard = await WebHold.request(spec, limits, limits?.timeout === 0);
  if (guard === undefined) throw webTimeoutError(spec, 0);
  return guard;
}

export function tryAcquire(spec: WebLockSpec): Promise<WebGuard | undefined> {
  return WebHold.request(spec, undefined, true);
}

/** Calls `fn` while holding, and releases when it has ended, even with an error or after the lock was stolen. */
export async function runHolding<T>(
  acquire: () => Promise<WebGuard>,
  fn: (guard: WebGuard) => T | PromiseLike<T>,
): Promise<T> {
  checkFunction(fn, "fn");
  const guard = await acquire();
  try {
    return await callIn(guard, fn, guard);
  } finally {
    await guard.release(); // never rejects
  }
}
