/**
 * The sequence of a shutdown: signal → delay → listeners closed → last answers → clean-up → report.
 *
 * @module
 */
import { acceptQueueEmpty } from "./accept_queue.ts";
import { cleanUp } from "./clean_up.ts";
import { drain } from "./drain.ts";
import type { ResponseTracker } from "./fetch/response_tracker.ts";
import { onCancel } from "../internal/cancellation.ts";
import type { ShutdownReport, ShutdownSettings } from "./options.ts";
import type { ShutdownState, Step } from "./shutdown_state.ts";
import { warnIfNotAttached } from "./warnings.ts";
import { TimeoutError } from "../errors.ts";

/** Runs it; resolves to the report. Up to the first pause, everything happens in the caller's own turn. */
export async function runSequence(
  state: ShutdownState,
  { grace, delay }: ShutdownSettings,
  tracker: ResponseTracker,
  reason: unknown,
): Promise<ShutdownReport> {
  const started = performance.now();
  const limit = onCancel({ timeout: grace }, () => {
    state.force(new TimeoutError(`Cannot drain: not done after ${grace} ms`));
  });
  tracker.sweep(); // which answers are complete decides how servers stop listening
  const isBusy = () => state.servers.some((server) => server.isBusy());
  state.phase = delay === 0 ? "draining" : "delaying";
  for (const server of state.servers) server.begin();
  const atOnce = delay === 0 && !isBusy();
  if (atOnce) stopListening(state);
  notify(state, reason);
  if (!atOnce) {
    await state.pause(delay);
    state.phase = "draining";
    if (isBusy()) await acceptQueueEmpty(() => state.servers.reduce((sum, { accepted }) => sum + accepted, 0));
    stopListening(state);
  }
  startCallbacks(state);
  const remaining = await drain(state, tracker);
  state.phase = "closed";
  state.errors.push(...await cleanUp(state.steps, state.forcing.signal));
  limit.end();
  for (const undo of state.atEnd) undo();
  const drained = remaining.length === 0;
  const errors = [...state.errors];
  const elapsed = performance.now() - started;
  return {
    reason: state.ending.signal.reason,
    drained,
    remaining,
    elapsed,
    errors,
    ok: drained && errors.length === 0,
  };
}

/** Calls a callback of onShutdown(); it is in flight until it ends. */
export function startCallback(state: ShutdownState, { fn, label }: Step): void {
  const entry = { label };
  state.inFlight.add(entry);
  void state.attemptLater(() => fn(state.forcing.signal)).then(() => state.inFlight.delete(entry));
}

function stopListening(state: ShutdownState): void {
  state.listenersClosed = true;
  for (const server of state.servers) state.attempt(() => server.stopListening());
}

/** Work that is added from here on sees the phase. */
function notify(state: ShutdownState, reason: unknown): void {
  const inFlight = [...state.inFlight];
  state.ending.abort(reason);
  for (const entry of inFlight) if (state.inFlight.has(entry)) state.attempt(entry.onShutdown);
  warnIfNotAttached(state);
}

function startCallbacks(state: ShutdownState): void {
  state.callbacksStarted = true;
  for (const callback of state.callbacks) startCallback(state, callback);
}
