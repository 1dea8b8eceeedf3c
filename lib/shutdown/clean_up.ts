/**
 * Clean-up steps: run in reverse order, one after the other, each until it ends or the time is over. A step that fails
 * keeps none of the others from running.
 *
 * @module
 */
import { printable } from "../internal/check.ts";
import { type CancelRegistration, onCancel } from "../internal/cancellation.ts";
import type { ShutdownState, Step } from "./shutdown_state.ts";
import { TimeoutError } from "../errors.ts";

/** Runs the steps, last one first. */
export async function cleanUp(state: ShutdownState): Promise<void> {
  for (const step of [...state.steps].reverse()) {
    state.step = step.label;
    await state.attemptLater(() => bounded(step, state.forced));
  }
}

/** A step that begins after the time is over still has one turn of the event loop. */
function bounded(step: Step, forced: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const expire = () => reject(new TimeoutError(`Cannot finish ${printable(step.label)}: the time is over`));
    let registration: CancelRegistration;
    const lastTurn = () => void (registration = onCancel({ timeout: 1 }, expire));
    if (forced.aborted) lastTurn();
    else registration = onCancel({ signal: forced }, lastTurn);
    const ended = (async () => void await step.fn(forced))();
    ended.then(resolve, reject).finally(() => registration.end());
  });
}
