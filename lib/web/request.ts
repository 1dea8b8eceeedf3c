/**
 * The calls of a platform lock, or of one side.
 *
 * @module
 */
import { admit } from "../internal/check.ts";
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
