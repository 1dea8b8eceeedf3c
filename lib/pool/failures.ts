/**
 * The failures of a pool that are not observed yet.
 *
 * @module
 */

export class Failures {
  /** By the task or map that failed, in the order in which it happened. */
  readonly #errors = new Map<object, unknown>();

  /** Keeps a failure until it is observed. */
  add(owner: object, error: unknown): void {
    this.#errors.set(owner, error);
  }

  /** The outcome of `owner` is observed. */
  observe(owner: object): void {
    this.#errors.delete(owner);
  }

  /** Takes all, for one `join`. */
  take(): readonly unknown[] {
    const errors = [...this.#errors.values()];
    this.#errors.clear();
    return errors;
  }
}

/** Whether `error` is the signal's reason, or an AbortError with the reason as its cause, as Node's functions throw it. */
export function isCancellation(error: unknown, signal: AbortSignal): boolean {
  if (!signal.aborted) return false;
  if (error === signal.reason) return true;
  try {
    return error instanceof Error && error.name === "AbortError" && error.cause === signal.reason;
  } catch {
    return false; // a getter or a proxy that throws
  }
}
