/**
 * Locks shared by all tabs and workers of an origin, without a server, through the platform's `navigator.locks`.
 * Browsers, Deno, and Node 24.5 and newer have it.
 *
 * @module web
 */
export { LeaseLostError, SyncError, TimeoutError } from "../errors.ts";
export type { Acquirable, Guard, WaitOptions } from "../types.ts";
export type { WebGuard } from "./guard.ts";
export { WebLock } from "./lock.ts";
export type { WebLockManager, WebLockMode, WebLockOptions, WebRwLockOptions } from "./options.ts";
export { WebRwLock, type WebRwLockSide } from "./rw_lock.ts";
