/**
 * The drain: wait for what is in flight, then close the servers; when shutdown is forced, cut what is left.
 *
 * @module
 */
import type { AnswerEnds } from "./fetch/response_tracker.ts";
import type { AttachedServer, Desk } from "./shutdown_state.ts";
import { Event } from "../event.ts";

/** How often those servers are asked that don't say by themselves what they have sent; in ms. */
const POLL = 10;

/** Returns the labels of what had to be cut. */
export async function drain(desk: Desk, ends: AnswerEnds, servers: readonly AttachedServer[]): Promise<string[]> {
  const poll = setInterval(() => ends.sweep(), POLL);
  try {
    await emptied(desk, ends);
    for (let known = 0; known < servers.length;) {
      const more = servers.slice(known);
      known = servers.length;
      await closed(desk, more);
      // Meanwhile more work may have been tracked, and more servers attached.
      await emptied(desk, ends);
    }
    return [];
  } catch {
    ends.sweep();
    return cut(desk, servers);
  } finally {
    clearInterval(poll);
  }
}

async function emptied({ inFlight, forcing }: Desk, ends: AnswerEnds): Promise<void> {
  ends.sweep();
  while (inFlight.size > 0) await inFlight.wait({ signal: forcing.signal });
}

async function closed(desk: Desk, servers: readonly AttachedServer[]): Promise<void> {
  const all = new Event();
  const each = servers.map((server) => server.close().catch((error) => void desk.errors.push(error)));
  void Promise.all(each).then(() => all.set());
  await all.wait({ signal: desk.forcing.signal });
}

function cut(desk: Desk, servers: readonly AttachedServer[]): string[] {
  const labels = desk.labels();
  for (const entry of [...desk.inFlight]) desk.attempt(entry.cut);
  for (const server of servers) desk.attempt(() => labels.push(...server.cut()));
  return labels;
}
