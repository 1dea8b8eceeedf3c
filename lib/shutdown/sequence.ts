/**
 * The sequence of a shutdown: signal → delay → listeners closed → last answers → clean-up → report.
 *
 * @module
 */
import { acceptQueueEmpty } from "./accept_queue.ts";
import { drain } from "./drain.ts";
import { Task } from "./in_flight.ts";
import type { FetchCalls } from "./fetch/calls.ts";
import { type CancelRegistration, onCancel } from "../internal/cancellation.ts";
import { printable } from "../internal/check.ts";
import type { ShutdownSettings } from "./options.ts";
import { report, type ShutdownReport } from "./report.ts";
import type { ShutdownState, Step } from "./shutdown_state.ts";
import { warnIfItStays, warnIfNotTied, whenPrinted } from "./warnings.ts";
import { TimeoutError } from "../errors.ts";

/** Runs it; resolves to the report. Up to the first pause, everything happens in the caller's own turn. */
export async function runSequence(
  state: ShutdownState,
  { grace, delay }: ShutdownSettings,
  calls: FetchCalls,
  reason: unknown,
): Promise<ShutdownReport> {
  const started = performance.now();
  const limit = onCancel({ timeout: grace }, () => {
    calls.sweep();
    state.force(new TimeoutError(`Cannot drain: not done after ${grace} ms`));
  });
  calls.sweep(); // which answers are complete decides how servers stop listening

  state.phase = delay === 0 ? "draining" : "delaying";
  for (const server of state.servers) state.attempt(() => server.begin());
  // The system refuses new connections before the first listener of `signal` runs, unless some are still to be accepted.
  const atOnce = delay === 0 && !isBusy(state);
  if (atOnce) stopListening(state);
  notify(state, calls, reason);
  if (!atOnce) {
    await state.pause(delay);
    state.phase = "draining";
    if (isBusy(state)) await acceptQueueEmpty(() => state.servers.reduce((sum, { accepted }) => sum + accepted, 0));
    stopListening(state);
  }
  startCallbacks(state);

  const remaining = await drain(state, calls);
  await cleanUp(state);
  limit.end();
  await whenPrinted();
  warnIfItStays();
  for (const undo of state.atEnd) undo(); // last: from here on a signal has its default effect
  return report(state, remaining, performance.now() - started);
}

/** Calls a callback of onShutdown(); it is in flight until it ends. */
export function startCallback(state: ShutdownState, { fn, label }: Step): void {
  const entry = new Task(label);
  state.inFlight.add(entry);
  void state.attemptLater(() => fn(state.forced)).then(() => state.inFlight.delete(entry));
}

function isBusy({ servers }: ShutdownState): boolean {
  return servers.some((server) => server.isBusy());
}

function stopListening(state: ShutdownState): void {
  state.listenersClosed = true;
  for (const server of state.servers) state.attempt(() => server.stopListening());
}

/** Work that is added from here on sees the phase. */
function notify(state: ShutdownState, calls: FetchCalls, reason: unknown): void {
  const inFlight = [...state.inFlight];
  state.ending.abort(reason);
  for (const entry of inFlight) if (entry.isListed) state.attempt(() => entry.onShutdown?.());
  state.attempt(() => warnIfNotTied(state, calls));
}

function startCallbacks(state: ShutdownState): void {
  state.callbacksStarted = true;
  for (const callback of state.callbacks) startCallback(state, callback);
}

/**
 * Runs the clean-up steps in reverse order, one after the other, each until it ends or the time is over. A step that fails
 * keeps none of the others from running.
 */
async function cleanUp(state: ShutdownState): Promise<void> {
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
