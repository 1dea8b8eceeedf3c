/**
 * Decides whether an error only means that its function was cancelled. It judges an error by its members, because
 * libraries wrap a signal's reason in errors of their own, and errors of another realm are not instances of this
 * realm's classes.
 *
 * @module
 */

/**
 * Whether `error`, thrown by a function that got `signal`, is the cancellation itself and not a failure: the signal has
 * aborted, and the error is its reason, has that reason as its cause, or is an abort error without another cause. Never
 * throws.
 */
export function isCancellation(error: unknown, signal: AbortSignal): boolean {
  try {
    if (!signal.aborted) return false;
    if (Object.is(error, signal.reason)) return true; // Object.is, for a reason of NaN
    const { name, code, cause } = Object(error) as { name?: unknown; code?: unknown; cause?: unknown };
    if (!isEmptyCause(cause)) return cause === signal.reason;
    // The codes are those of Node and axios.
    return name === "AbortError" || code === "ABORT_ERR" || code === "ERR_CANCELED";
  } catch {
    return false; // a getter or proxy has thrown
  }
}

/** Whether a cause carries no information: got 14 sets an empty object. */
function isEmptyCause(cause: unknown): boolean {
  if (cause === undefined || cause === null) return true;
  return typeof cause === "object" && !("message" in cause) && Object.keys(cause).length === 0;
}
