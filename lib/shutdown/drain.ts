/**
 * The drain: wait for the work in flight and for connections to close; when shutdown is forced, cut what is left.
 *
 * @module
 */
import { Event } from "../event.ts";
import { pause } from "../internal/cancellation.ts";
import type { FetchCalls } from "./fetch/calls.ts";
import type { AttachedServer, ShutdownState } from "./shutdown_state.ts";

/** How often idle connections are closed, and servers polled that do not notify of answers sent; in ms. */
const POLL = 10;

/** ms within which the run-time's next turn comes. */
const TURN = 1;

/**
 * Waits for the work in flight, then for the servers' connections, and closes the shutdown for more. Returns the labels of
 * the work that had to be cut.
 */
export async function drain(state: ShutdownState, calls: FetchCalls): Promise<string[]> {
  const { servers } = state;
  const over = new AbortController();
  void poll(over.signal, () => {
    calls.sweep();
    for (const server of servers) state.attempt(() => server.sweep());
  });
  let known = 0;
  try {
    do {
      await emptied(state, calls);
      // While some close, more work may be tracked, and more servers attached.
      const more = servers.slice(known);
      known = servers.length;
      await closed(state, more);
    } while (known < servers.length || state.inFlight.size > 0);
  } catch {
    // It is forced: nothing else rejects.
  }
  over.abort();
  state.phase = "closed"; // in the same step as the last look: what comes now is refused, for nobody waits for it
  if (!state.forcing.signal.aborted) return state.labels(state.cut);
  calls.sweep();
  return cut(state, servers);
}

async function poll(over: AbortSignal, sweep: () => void): Promise<void> {
  for (; !over.aborted; await pause(POLL, over)) sweep();
}

async function emptied(state: ShutdownState, calls: FetchCalls): Promise<void> {
  calls.sweep();
  await state.inFlight.empty(state.forcing.signal);
  if (calls.lagging) await state.pause(TURN);
}

async function closed(state: ShutdownState, servers: readonly AttachedServer[]): Promise<void> {
  const all = new Event();
  const each = servers.map((server) => state.attemptLater(() => server.close()));
  void Promise.all(each).then(() => all.set());
  await all.wait({ signal: state.forcing.signal });
}

function cut(state: ShutdownState, servers: readonly AttachedServer[]): string[] {
  for (const entry of state.inFlight) state.cut.add(entry);
  const labels = state.labels(state.cut);
  for (const entry of [...state.inFlight]) state.attempt(() => entry.cut?.());
  for (const server of servers) state.attempt(() => labels.push(...server.cut()));
  return labels;
}
