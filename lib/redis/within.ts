/**
 * A promise with a limit. Invariant: it settles once, and nothing is registered after that.
 *
 * @module
 */
import { type CancelLimits, type CancelOutcome, onCancel } from "../internal/cancellation.ts";

/** Settles as `promise` does, or rejects with the error of the limit that ends it first. A signal must not be aborted yet. */
export function within<T>(
  promise: Promise<T>,
  limits: CancelLimits,
  errorOf: (outcome: CancelOutcome) => unknown,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const limit = onCancel(limits, (outcome) => reject(errorOf(outcome)));
    promise.finally(() => limit.end()).then(resolve, reject);
  });
}
