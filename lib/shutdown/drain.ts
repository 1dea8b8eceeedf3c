/**
 * The drain: wait for the work in flight and for connections to close; when shutdown is forced, cut what is left.
 *
 * @module
 */
import { Event } from "../event.ts";
import { pause } from "../internal/cancellation.ts";
import type { ResponseTracker } from "./fetch/response_tracker.ts";
import type { AttachedServer, ShutdownState } from "./shutdown_state.ts";

/** How often idle connections are closed, and servers polled that do not notify of answers sent; in ms. */
const POLL = 10;

/** Returns the labels of what had to be cut. */
export async function drain(state: ShutdownState, tracker: ResponseTracker): Promise<string[]> {
  const { servers } = state;
  const over = new AbortController();
  void poll(over.signal, () => {
    tracker.sweep();
    for (const server of servers) state.attempt(() => server.sweep());
  });
  try {
    await emptied(state, tracker);
    for (let known = 0; known < servers.length;) {
      const more = servers.slice(known);
      known = servers.length;
      await closed(state, more);
      // Meanwhile more work may have been tracked, and more servers attached.
      await emptied(state, tracker);
    }
    return [];
  } catch {
    tracker.sweep();
    return cut(state, servers);
  } finally {
    over.abort();
  }
}

async function poll(over: AbortSignal, sweep: () => void): Promise<void> {
  for (; !over.aborted; await pause(POLL, over)) sweep();
}

async function emptied({ inFlight, forcing }: ShutdownState, tracker: ResponseTracker): Promise<void> {
  tracker.sweep();
  while (inFlight.size > 0) await inFlight.wait({ signal: forcing.signal });
}

async function closed(state: ShutdownState, servers: readonly AttachedServer[]): Promise<void> {
  const all = new Event();
  const each = servers.map((server) => state.attemptLater(() => server.close()));
  void Promise.all(each).then(() => all.set());
  await all.wait({ signal: state.forcing.signal });
}

function cut(state: ShutdownState, servers: readonly AttachedServer[]): string[] {
  const labels = state.labels();
  for (const entry of [...state.inFlight]) state.attempt(entry.cut);
  for (const server of servers) state.attempt(() => labels.push(...server.cut()));
  return labels;
}
