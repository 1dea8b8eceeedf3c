/**
 * Whether an error says only that its function was cancelled. Libraries wrap the reason of a signal in errors of their
 * own, and those of another realm are instances of no class here: an error is judged by its members.
 *
 * @module
 */

/** The codes of cancellations: Node's, and that of axios. */
const CODES: readonly unknown[] = ["ABORT_ERR", "ERR_CANCELED"];

/**
 * Whether `error`, thrown by a function that was given `signal`, is the cancellation itself and no failure. The signal has
 * aborted, and the error is its reason, has it as its cause, or is an abort error that has no other cause. Never throws.
 */
export function isCancellation(error: unknown, signal: AbortSignal): boolean {
  try {
    if (!signal.aborted) return false;
    if (Object.is(error, signal.reason)) return true; // NaN, too
    if (typeof error !== "object" || error === null) return false;
    const { name, code, cause } = error as { name?: unknown; code?: unknown; cause?: unknown };
    if (!isNone(cause)) return cause === signal.reason;
    return name === "AbortError" || CODES.includes(code);
  } catch {
    return false; // a getter or a proxy that throws
  }
}

/** Whether a cause says nothing: got 14 has an empty object there. */
function isNone(cause: unknown): boolean {
  if (typeof cause !== "object" || cause === null) return cause === undefined || cause === null;
  return !("message" in cause) && Object.keys(cause).length === 0;
}
