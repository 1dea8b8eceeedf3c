/**
 * Giving back by id: a hold, a place in line, or whatever a call whose answer never came may have left. Invariant: it
 * ends when Redis has answered at a time at which nothing of this id can run any more, or when whatever there was has
 * run out by itself.
 *
 * @module
 */
import { explain } from "../errors.ts";
import type { RedisConnection } from "./connection.ts";
import type { ResourceSpec } from "./resource_spec.ts";
import { now, Timer } from "./clock.ts";

/** What Redis knew of an id. */
export type Was = "held" | "waiting" | "unknown";

export interface ReleaseOptions {
  /** For error messages: "release lock "a"". */
  readonly operation: string;
  /** Local time after which there is nothing left to give back. */
  readonly until: number;
  /** Server time in microseconds until when an earlier command of this id may still run; 0 if there is none. */
  readonly inFlightUntil: number;
}

/**
 * Tells Redis to releaseById an id. "unknown" also where nobody could say in time; rejects where Redis refuses, unless that is
 * hoped to pass.
 */
export async function releaseById(
  connection: RedisConnection,
  spec: ResourceSpec,
  id: string,
  options: ReleaseOptions,
  hopeful = false,
): Promise<Was> {
  for (let attempt = 0;; attempt++) {
    const limit = limitOf(spec, options.until);
    try {
      const was = await release(connection, spec, id, limit);
      const left = options.inFlightUntil - connection.serverTime(now());
      if (left >= 0) void forgetStray(connection, spec, id, left / 1000, options);
      return was;
    } catch (error) {
      if (connection.closed || !(hopeful || connection.mayPass(error))) throw explain(options.operation, error);
      if (now() >= options.until) return "unknown";
      await pause(connection, Math.min(25 * 2 ** attempt, 1000, Math.max(1, options.until - now())));
    }
  }
}

/** The same, for nobody who waits for the answer. */
export function releaseInBackground(
  connection: RedisConnection,
  spec: ResourceSpec,
  id: string,
  options: ReleaseOptions,
): void {
  releaseById(connection, spec, id, options, true).catch(() => {
    // The client is closed: what there was ends with its time.
  });
}

/** Once more, when a command that nobody has an answer to would be refused as too late. */
async function forgetStray(
  connection: RedisConnection,
  spec: ResourceSpec,
  id: string,
  ms: number,
  options: ReleaseOptions,
) {
  await pause(connection, ms + 50);
  releaseInBackground(connection, spec, id, { ...options, until: now() + spec.settings.ttl });
}

/** Gives back what `id` has, or what anybody has if `mode` is "force", and lets in all who fit then. */
export async function release(
  connection: RedisConnection,
  spec: ResourceSpec,
  id: string,
  limit: number,
  mode: "" | "force" | "serve" = "",
): Promise<Was> {
  const { family, keys, settings } = spec;
  let first: Was | undefined;
  for (;;) {
    const args = [id, String(settings.retention), mode];
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
      off();
      resolve();
    };
    const timer = new Timer(end);
    const off = connection.onClose(end);
    timer.set(now() + ms);
  });
}
