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

/**
 * The `timeout` of a call has expired: of any method that waits. The call has left its queue, and holds nothing. The
 * platform's own time-outs use the same `name`.
 *
 * @example
 * ```ts
 * import { Lock, TimeoutError } from "@interlock/interlock";
 *
 * const lock = new Lock({ name: "orders" });
 * using _ = await lock.acquire();
 * try {
 *   await lock.run(() => {}, { timeout: 10 });
 * } catch (error) {
 *   if (!(error instanceof TimeoutError)) throw error;
 *   console.log(error.message); // Cannot acquire lock "orders": timed out after 10 ms
 * }
 * ```
 */
export class TimeoutError extends SyncError {}
nameError(TimeoutError, "TimeoutError");

/**
 * The call needs a hold, and the lock is not held: `release()` of a free lock, `wait()` and `notify()` of a Condition,
 * or `extend()` of a released lease. A second `release()` of a guard has no effect instead.
 */
export class NotHeldError extends SyncError {}
nameError(NotHeldError, "NotHeldError");

/**
 * The object was closed before the call, by `cancel()` or `close()`. Calls that wait at `cancel()` reject with its reason
 * instead. When a `Queue` is closed, waiting calls reject with this error, too.
 */
export class ClosedError extends SyncError {}
nameError(ClosedError, "ClosedError");

/**
 * The queue already has `maxWaiting` waiters, so the call was refused at once. A server responds with status 503.
 *
 * @example
 * ```ts
 * import { Lock, QueueFullError } from "@interlock/interlock";
 *
 * const lock = new Lock({ maxWaiting: 0 });
 * using _ = await lock.acquire();
 * const status = await lock.run(() => 200).catch((error) =>
 *   error instanceof QueueFullError ? 503 : 500
 * );
 * console.log(status); // 503
 * ```
 */
export class QueueFullError extends SyncError {}
nameError(QueueFullError, "QueueFullError");

/**
 * A remote hold can no longer be trusted: it expired, its data is gone, or another holder has taken over. It is the
 * reason of the lease's `signal`, and of the `signal` of a stolen `WebLock`'s guard. The process warning
 * `INTERLOCK_LEASE_LOST` reports a lost lease.
 */
export class LeaseLostError extends SyncError {}
nameError(LeaseLostError, "LeaseLostError");

/** Names an error class and its instances. Bundlers rename the class, whose name Node and Deno show as well. */
export function nameError(Class: { readonly prototype: Error }, name: string): void {
  Class.prototype.name = name; // on the prototype, so that the first line of the stack shows it
  Object.defineProperty(Class, "name", { value: name });
}
