/**
 * Follows a promise by the engine's own `then`, as `await` does: exactly one callback is called, once and
 * asynchronously. A promise's own `then` could throw, call back at once, or never.
 *
 * @module
 */

// Captured together, because a library may replace the global Promise later (zone.js, bluebird).
const Native = Promise;
const { then } = Native.prototype;

/**
 * Calls one of the functions when the promise settles. If the promise's `constructor` throws, rethrows that error and
 * calls neither.
 */
export function follow<T>(
  promise: T | PromiseLike<T>,
  onFulfilled: (value: T) => void,
  onRejected: (error: unknown) => void,
): void {
  then.call(Native.resolve(promise), onFulfilled as (value: unknown) => void, onRejected);
}
