/**
 * The drain: wait for what is in flight, then close the servers; when shutdown is forced, cut what is left.
 *
 * @module
 */
import type { AnswerEnds } from "./_answer_end.ts";
import type { AttachedServer, Desk } from "./_shutdown_desk.ts";
import { Event } from "./event.ts";

/** How often those servers are asked that don't say by themselves what they have sent; in ms. */
const POLL = 10;

/**
 * Returns the labels of what had to be cut.
 *
 * @param errors Gets what closing a server threw.
 */
export async function drain(
  desk: Desk,
  ends: AnswerEnds,
  servers: readonly AttachedServer[],
  errors: unknown[],
): Promise<string[]> {
  const poll = setInterval(() => ends.sweep(), POLL);
  try {
    await emptied(desk, ends);
    await closed(desk, servers, errors);
    // While the servers were closing, more work may have been tracked.
    await emptied(desk, ends);
    return [];
  } catch {
    ends.sweep();
    return cut(desk, servers, errors);
  } finally {
    clearInterval(poll);
  }
}

async function emptied({ inFlight, forcing }: Desk, ends: AnswerEnds): Promise<void> {
  ends.sweep();
  while (inFlight.size > 0) await inFlight.wait({ signal: forcing.signal });
}

async function closed(desk: Desk, servers: readonly AttachedServer[], errors: unknown[]): Promise<void> {
  const all = new Event();
  const each = servers.map((server) => server.close().catch((error) => void errors.push(error)));
  void Promise.all(each).then(() => all.set());
  await all.wait({ signal: desk.forcing.signal });
}

function cut({ inFlight }: Desk, servers: readonly AttachedServer[], errors: unknown[]): string[] {
  const labels: string[] = [];
  for (const entry of inFlight) {
    labels.push(entry.label);
    attempt(entry.cut, errors);
  }
  for (const server of servers) attempt(() => labels.push(...server.cut()), errors);
  return labels;
}

/** What one of them throws keeps nobody from the others. */
export function attempt(fn: (() => unknown) | undefined, errors: unknown[]): void {
  try {
    fn?.();
  } catch (error) {
    errors.push(error);
  }
}
