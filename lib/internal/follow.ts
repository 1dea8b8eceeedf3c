/**
 * Following a promise by the engine's own `then`, as `await` does it: for every kind of promise, one callback is called,
 * once and later. An own `then` could throw, call back at once, or never.
 *
 * @module
 */

// Both of one kind, also if a library replaces the global Promise later (zone.js, bluebird).
const Native = Promise;
const { then } = Native.prototype;

/** Calls one of the functions when the promise settles. Throws if its constructor does; then neither is called. */
export function follow<T>(
  promise: T | PromiseLike<T>,
  onFulfilled: (value: T) => void,
  onRejected: (error: unknown) => void,
): void {
  then.call(Native.resolve(promise), onFulfilled as (value: unknown) => void, onRejected);
}
