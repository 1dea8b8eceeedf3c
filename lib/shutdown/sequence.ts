/**
 * The sequence of a shutdown: signal → delay → listeners closed → last responses → clean-up → report.
 *
 * @module
 */
import { Event } from "../event.ts";
import { Task } from "./in_flight.ts";
import { type Cancellation, onCancel, pause } from "../internal/cancellation.ts";
import { printable } from "../internal/check.ts";
import { report, type ShutdownReport } from "./report.ts";
import { type AttachedServer, LOOK, type ShutdownState, type Step, TURN } from "./shutdown_state.ts";
import { warnForced, warnIfItStays, warnIfNotTied, watchExit, whenPrinted } from "./warnings.ts";
import { TimeoutError } from "../errors.ts";

/** Runs the sequence; resolves to the report. Up to the first pause, it runs in the caller's own turn. */
export async function runSequence(state: ShutdownState, reason: unknown): Promise<ShutdownReport> {
  const { grace } = state.settings;
  const started = performance.now();
  const limit = onCancel({ timeout: grace }, () => {
    const labels = state.pending();
    state.force(new TimeoutError(`Cannot drain: not done after ${grace} ms`));
    warnForced(`the end of grace, ${grace} ms after the signal`, labels);
  });
  const stopWatching = watchExit(state);
  state.calls.sweep(); // servers stop listening according to which responses are complete

  state.phase = "delaying";
  for (const server of state.servers) state.attempt(() => server.begin?.());
  const hasListeners = state.hasDelay || state.servers.size > 0;
  if (!hasListeners) stopListening(state);
  state.notify(reason);
  state.attempt(() => warnIfNotTied(state));
  if (hasListeners) {
    if (state.hasDelay) await pass(state);
    state.phase = "settling";
    await Promise.all(Array.from(state.servers, (server) => server.settle()));
    stopListening(state);
  }
  for (const callback of state.callbacks) startCallback(state, callback);
  if (hasListeners) await state.releaseNextTurn();

  const remaining = await drain(state);
  do {
    remaining.push(...await cleanUp(state));
    await whenPrinted();
  } while (state.steps.length > 0);
  limit.end();
  stopWatching();
  warnIfItStays();
  for (const undo of state.atEnd) undo(); // last, because from here on a signal has its default effect
  state.phase = "finished";
  return report(state.signal.reason, remaining, performance.now() - started, [...state.errors]);
}

/** Waits for the delay. */
async function pass(state: ShutdownState): Promise<void> {
  const { delay } = state.settings;
  if (typeof delay === "number") return state.pause(delay);
  await state.attemptLater(() => bounded({ label: delay.name || "delay", fn: delay }, state.forced));
}

/** In one step: once a response announces the close, its client opens a new connection, which must meet no listener. */
function stopListening(state: ShutdownState): void {
  state.phase = "draining";
  for (const server of state.servers) state.attempt(() => server.stopListening());
}

/** Calls a callback of onShutdown(), which is in flight until it ends. */
export function startCallback(state: ShutdownState, { fn, label }: Step): void {
  const entry = new Task(label);
  state.inFlight.add(entry);
  void state.attemptLater(() => fn(state.forced)).then(() => state.inFlight.delete(entry));
}

/**
 * Waits for the work in flight, then for the servers' connections, and stops counting new work. When forced, cuts the
 * remaining work. Returns the labels of the work that was cut.
 */
async function drain(state: ShutdownState): Promise<string[]> {
  const { servers, inFlight, forced } = state;
  const over = new AbortController();
  void poll(state, over.signal);
  const known = new Set<AttachedServer>();
  const isNew = (server: AttachedServer) => !known.has(server);
  try {
    do {
      await inFlight.empty(forced);
      if (state.calls.arrived > 0) await state.pause(TURN); // Deno sends a response in its next turn
      // While servers close, more work may be tracked and more servers attached.
      const more = [...servers].filter(isNew);
      for (const server of more) known.add(server);
      await closed(state, more);
    } while (inFlight.size > 0 || [...servers].some(isNew));
  } catch {
    // The shutdown is forced: nothing else rejects.
  }
  over.abort();
  state.phase = "closed"; // in the same step as the last look: later work would not be awaited, so it is refused
  return forced.aborted ? cut(state) : state.labels(state.cut);
}

async function poll(state: ShutdownState, over: AbortSignal): Promise<void> {
  for (; !over.aborted; await pause(LOOK, over)) {
    state.calls.sweep();
    for (const server of state.servers) state.attempt(() => server.sweep?.());
  }
}

/** Resolves when the connections of these servers are closed, and rejects when the shutdown is forced. */
async function closed(state: ShutdownState, servers: readonly AttachedServer[]): Promise<void> {
  const all = new Event();
  const each = servers.map((server) => state.attemptLater(() => server.close()));
  void Promise.all(each).then(() => all.set());
  await all.wait({ signal: state.forced });
}

function cut(state: ShutdownState): string[] {
  for (const entry of state.inFlight) state.cut.add(entry);
  const labels = state.labels(state.cut);
  for (const entry of [...state.inFlight]) state.attempt(() => entry.cut?.());
  for (const server of state.servers) state.attempt(() => labels.push(...server.cut()));
  return labels;
}

/**
 * Runs the clean-up steps one at a time in reverse order, each until it ends or the time is over. A failed step does
 * not keep other steps from running. Returns the labels of the steps that a forced shutdown cancelled: they have not
 * failed, but their clean-up is incomplete.
 */
async function cleanUp(state: ShutdownState): Promise<string[]> {
  const cancelled: string[] = [];
  for (let step = state.steps.pop(); step !== undefined; step = state.steps.pop()) {
    state.step = step.label;
    if (await state.attemptLater(() => bounded(step, state.forced))) cancelled.push(step.label);
  }
  return cancelled;
}

/** A step that begins after the time is over still gets one turn of the event loop. */
function bounded(step: Step, forced: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const expire = () => reject(new TimeoutError(`Cannot finish ${printable(step.label)}: the time is over`));
    let registration: Cancellation;
    const lastTurn = () => void (registration = onCancel({ timeout: 1 }, expire));
    if (forced.aborted) lastTurn();
    else registration = onCancel({ signal: forced }, lastTurn);
    const ended = (async () => void await step.fn(forced))();
    ended.then(resolve, reject).finally(() => registration.end());
  });
}
