/**
 * The errors of this module. Each is a fresh instance. Its `name` is the name of its class, and its message reads
 * "Cannot ⟨act⟩ ⟨what⟩: ⟨state⟩". Bad arguments throw the platform's TypeError and RangeError instead, and a caller's
 * own abort reason is passed on as it is.
 *
 * @module
 */

/**
 * The base class of all errors of this module: one `instanceof` distinguishes them from the errors of your own code.
 */
export class SyncError extends Error {}
nameError(SyncError, "SyncError");

/** The call's `timeout` has expired. The platform's own time-outs use the same `name`. */
export class TimeoutError extends SyncError {}
nameError(TimeoutError, "TimeoutError");

/** The call needs a hold, and the lock is not held: for a release, a wait or a notification. */
export class NotHeldError extends SyncError {}
nameError(NotHeldError, "NotHeldError");

/** The object was closed before the call. */
export class ClosedError extends SyncError {}
nameError(ClosedError, "ClosedError");

/** The queue already has `maxWaiting` waiters. */
export class QueueFullError extends SyncError {}
nameError(QueueFullError, "QueueFullError");

/** A remote hold can no longer be trusted: it expired, its data is gone, or another holder has taken over. */
export class LeaseLostError extends SyncError {}
nameError(LeaseLostError, "LeaseLostError");

/** Names an error class and its instances. Bundlers rename the class, whose name Node and Deno show as well. */
export function nameError(Class: { readonly prototype: Error }, name: string): void {
  Class.prototype.name = name; // on the prototype, so that the first line of the stack shows it
  Object.defineProperty(Class, "name", { value: name });
}
