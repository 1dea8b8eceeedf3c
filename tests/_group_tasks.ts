/** Functions for the tasks of a TaskGroup. */

/** Rejects with the signal's reason when it aborts, as fetch does. */
export function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason));
  });
}

export const fails = (error: unknown) => () => Promise.reject(error);

/** An error with that name. */
export function named(name: string, options: ErrorOptions): Error {
  return Object.assign(new Error("cancelled", options), { name });
}
