/**
 * Clean-up steps: run in reverse order, one after the other, each until it ends or the time is over. A step that fails
 * keeps none of the others from running.
 *
 * @module
 */
import { TimeoutError } from "../errors.ts";

/** One step. */
export interface Step {
  readonly label: string;
  readonly fn: (signal: AbortSignal) => unknown;
}

/** Runs the steps, last one first; returns what they threw. */
export async function cleanUp(steps: readonly Step[], forced: AbortSignal): Promise<unknown[]> {
  const errors: unknown[] = [];
  for (const step of [...steps].reverse()) {
    try {
      await within(step, forced);
    } catch (error) {
      errors.push(error);
    }
  }
  return errors;
}

/** A step that begins when the time is over already still has one turn of the event loop. */
function within(step: Step, forced: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    let turn: ReturnType<typeof setTimeout> | undefined;
    const giveUp = () => {
      turn = setTimeout(() => settle(() => reject(new TimeoutError(`Cannot finish ${step.label}: the time is over`))));
    };
    const settle = (how: () => void) => {
      clearTimeout(turn);
      forced.removeEventListener("abort", giveUp);
      how();
    };
    if (forced.aborted) giveUp();
    else forced.addEventListener("abort", giveUp);
    const ended = (async () => void await step.fn(forced))();
    ended.then(() => settle(resolve), (error) => settle(() => reject(error)));
  });
}
