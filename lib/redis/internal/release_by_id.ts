/**
 * Releasing by id: a hold, a place in the queue, or the trace of a call whose answer never came. Invariant: it ends when
 * Redis has answered at a time at which no command of this id can run any more, or when the hold and the place have
 * expired.
 *
 * @module
 */
import type { RedisConnection } from "./connection.ts";
import type { ResourceSpec } from "./resource_spec.ts";
import { now, Timer } from "./clock.ts";

/** The state of an id before its release. */
export type Was = "held" | "waiting" | "unknown";

export interface ReleaseOptions {
  /** For error messages: "release lock "a"". */
  readonly operation: string;
  /** Local time after which there is nothing left to release. */
  readonly until: number;
  /** Server time in microseconds until which an earlier command of this id may still run; 0 if there is none. */
  readonly inFlightUntil: number;
}

/** Releases an id; no caller waits for it. Every refusal may pass: the caller's rights, for example, can change. */
export function releaseInBackground(
  spec: ResourceSpec,
  id: string,
  options: ReleaseOptions,
): void {
  void releaseById(spec, id, options);
}

/** Never rejects: without an answer, the hold and the place end with their time. */
async function releaseById(
  spec: ResourceSpec,
  id: string,
  options: ReleaseOptions,
): Promise<void> {
  const { connection } = spec;
  for (let attempt = 0;; attempt++) {
    try {
      await release(spec, id, limitOf(spec, options.until));
      break;
    } catch {
      if (connection.closed || now() >= options.until) return;
      await pause(connection, Math.min(25 * 2 ** attempt, 1000, Math.max(1, options.until - now())));
    }
  }
  const left = options.inFlightUntil - connection.serverTime(now());
  if (left < 0) return;
  // Once more when a command without an answer would be refused as too late.
  await pause(connection, left / 1000 + 50);
  await releaseById(spec, id, { ...options, until: now() + spec.settings.ttl });
}

/** Releases the hold or the place of `id`, or all holds if `mode` is "force", and serves the queue. */
export async function release(
  spec: ResourceSpec,
  id: string,
  limit: number,
  mode: "" | "force" | "serve" = "",
): Promise<Was> {
  const { connection, family, keys, settings } = spec;
  let first: Was | undefined;
  for (;;) {
    const args = [id, String(Math.max(settings.retention, 1)), mode];
    const [code, time, more] = await connection.run(family.release, keys, args, limit) as [unknown, unknown, unknown];
    connection.sawTime(Number(time));
    first ??= Number(code) === 1 ? "held" : Number(code) === 2 ? "waiting" : "unknown";
    if (Number(more) === 0) return first;
    if (Number(more) === 2) mode = "serve"; // one run is bounded: the rest is left to the next
  }
}

function limitOf(spec: ResourceSpec, until: number): number {
  const usual = Math.min(Math.max(spec.settings.ttl / 3, 250), 5000);
  return Math.max(Math.min(usual, until - now()), 10);
}

/** Does not keep the process alive, and ends early when the client is closed. */
function pause(connection: RedisConnection, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      timer.clear();
      connection.offClose(closable);
      resolve();
    };
    const timer = new Timer(end);
    const closable = { index: -1, close: end };
    connection.onClose(closable);
    timer.set(now() + ms);
  });
}
