/**
 * The sequence of a shutdown: signal → delay → listeners closed → last responses → clean-up → report.
 *
 * @module
 */
import { abortSafely } from "./platform/deno.ts";
import { InFlight } from "./in_flight.ts";
import { onCancel, pause } from "../internal/cancellation.ts";
import { printable } from "../internal/check.ts";
import { warningsPrinted } from "../internal/platform.ts";
import { startTimer } from "../internal/timers.ts";
import { report, type ShutdownReport } from "./report.ts";
import { type AttachedServer, CHECK_EVERY, type ShutdownState, type Step, TURN } from "./shutdown_state.ts";
import { warnForced, warnIfItStays, warnIfNotTied, watchExit } from "./warnings.ts";
import { TimeoutError } from "../errors.ts";

/** Runs the sequence; resolves to the report. Up to the first pause, it runs in the caller's own turn. */
export async function runSequence(state: ShutdownState, reason: unknown): Promise<ShutdownReport> {
  const { grace, delay } = state.settings;
  const startedAt = performance.now();
  const graceTimer = onCancel({ timeout: grace }, () => {
    const reason = new TimeoutError(`Cannot drain: not done after ${grace} ms`);
    force(state, reason, `the end of grace, ${grace} ms after the signal`);
  });
  const stopWatching = watchExit(state);
  state.phase = "delaying";
  for (const server of state.servers.values()) state.collectErrorOf(() => server.begin?.());
  const takesRequests = delay !== 0 || state.servers.size > 0;
  if (!takesRequests) stopListening(state);
  state.notify(reason);
  state.collectErrorOf(() => warnIfNotTied(state));
  if (takesRequests) {
    if (typeof delay === "function") await runStep(state, { label: delay.name || "delay", fn: delay });
    else if (delay > 0) await state.pause(delay);
    state.phase = "calming";
    await Promise.all(Array.from(state.servers.values(), (server) => state.collectRejection(() => server.awaitCalm())));
    stopListening(state);
  }
  for (const callback of state.callbacks) startCallback(state, callback);
  if (takesRequests) await state.resumeNextTurn();

  await drain(state);
  do {
    await cleanUp(state);
    await warningsPrinted(); // the process may exit when its shutdown is finished
  } while (state.steps.length > 0);
  graceTimer.end();
  stopWatching();
  warnIfItStays();
  for (const undo of state.atEnd) undo(); // last, because from here on a signal has its default effect
  state.phase = "finished";
  const elapsed = performance.now() - startedAt;
  return report({ reason: state.signal.reason, remaining: state.remaining, elapsed, errors: [...state.errors] });
}

/** In one step: once a response announces the close, its client opens a new connection, which must meet no listener. */
function stopListening(state: ShutdownState): void {
  state.phase = "draining";
  for (const server of state.servers.values()) state.collectErrorOf(() => server.stopListening());
}

/** Calls a callback of onShutdown(), which is in flight until it ends. */
export function startCallback(state: ShutdownState, { fn, label }: Step): void {
  const entry = new InFlight(label);
  state.inFlight.add(entry);
  void state.collectRejection(() => fn(state.forced)).then(() => state.inFlight.delete(entry));
}

/**
 * Waits for the work in flight, then for the servers' connections, and stops counting new work. When forced, cuts the
 * remaining work.
 */
async function drain(state: ShutdownState): Promise<void> {
  const { servers, inFlight, forced } = state;
  const stopSweeping = startTimer(CHECK_EVERY, () => sweep(state), true);
  let closed: AttachedServer[] = [];
  do {
    await state.pause(Infinity, inFlight.untilEmpty());
    if (state.handlerCalls > 0) await state.pause(TURN); // Deno sends a response in its next turn
    if (forced.aborted) break;
    closed = [...servers.values()];
    await state.pause(Infinity, Promise.all(closed.map((server) => state.collectRejection(() => server.close()))));
    // Meanwhile more work may have been tracked and more servers attached.
  } while (inFlight.size > 0 || [...servers.values()].some((each) => !closed.includes(each)));
  stopSweeping();
  state.phase = "closed"; // in the same step as the last sweep: later work would not be awaited, so it is refused
  if (forced.aborted) cut(state);
}

/** Returns the time until the next sweep. */
function sweep(state: ShutdownState): number {
  state.inFlight.sweep();
  for (const server of state.servers.values()) state.collectErrorOf(() => server.sweep?.());
  return CHECK_EVERY;
}

/** Aborts `forced`. All work in flight counts as cut, even if it then ends at once. */
export function force(state: ShutdownState, reason: Error, cause: string): void {
  if (state.forced.aborted) return;
  const labels = state.pendingLabels();
  for (const entry of state.inFlight) if (entry.count > 0) state.cut.add(entry);
  abortSafely(state.forcedController, reason);
  warnForced(cause, labels);
}

/** Cuts the work that is left, and lists its labels in the report. */
function cut(state: ShutdownState): void {
  const { remaining } = state;
  for (const entry of state.inFlight) state.cut.add(entry);
  for (const { label } of state.cut) remaining.push(label);
  for (const entry of [...state.inFlight]) state.collectErrorOf(() => entry.cut?.());
  for (const server of state.servers.values()) state.collectErrorOf(() => remaining.push(...server.cut()));
}

/**
 * Runs the clean-up steps one at a time in reverse order, each until it ends or the time is over. A failed step does
 * not keep other steps from running.
 */
async function cleanUp(state: ShutdownState): Promise<void> {
  for (let step = state.steps.pop(); step !== undefined; step = state.steps.pop()) {
    state.step = step.label;
    await runStep(state, step);
  }
}

/**
 * Runs a step until it ends or the time is over. One that begins after that still gets one turn of the event loop. A
 * step that a forced shutdown cancels has not failed, but its work is incomplete, so it is listed with what remains.
 */
async function runStep(state: ShutdownState, { fn, label }: Step): Promise<void> {
  const { forced } = state;
  const isCancelled = await state.collectRejection(async () => {
    const ended = (async () => void await fn(forced))();
    await state.pause(Infinity, ended);
    const expire = () => Promise.reject(new TimeoutError(`Cannot finish ${printable(label)}: the grace time is over`));
    await (forced.aborted ? Promise.race([ended, pause(1, undefined, true, ended).then(expire)]) : ended);
  });
  if (isCancelled) state.remaining.push(label);
}
