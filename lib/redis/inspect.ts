/**
 * Looking at a name from outside, and freeing it by force.
 *
 * @module
 */
import { explain } from "./errors.ts";
import { PAGE } from "./scripts/inspect.ts";
import { release } from "./internal/release_by_id.ts";
import type { RedisConnection } from "./internal/connection.ts";
import type { ResourceSpec } from "./internal/resource_spec.ts";

/** Somebody who holds. */
export interface Holder {
  /** The `id` of its lease. */
  readonly id: string;
  /** The token of its lease. */
  readonly fencingToken: number;
  /** Permits that it holds. */
  readonly permits: number;
  /** Milliseconds until its lease ends unless it is renewed. */
  readonly expiresIn: number;
}

/** What Redis knows of a name, at one moment. */
export interface Inspection {
  /** Those whose lease has not ended. */
  readonly holders: Holder[];
  /** Ids of those in line, the first one first. */
  readonly waiters: string[];
  /** The last fencing token; 0 where there is no data. */
  readonly fence: number;
  /** Milliseconds until Redis drops the data of this name if nothing happens; 0 where there is none. */
  readonly ttl: number;
}

const LIMIT = 5000;

export async function inspect(connection: RedisConnection, spec: ResourceSpec): Promise<Inspection> {
  const holders = new Map<string, Holder>();
  const waiters = new Set<string>();
  try {
    for (let from = 0;; from += PAGE) {
      const answer = await connection.run(spec.family.inspect, spec.keys, [String(from)], LIMIT) as unknown[];
      const [time = 0, ttl = 0, fence = 0] = answer.map(Number);
      for (const record of recordsOf(answer[4], 6)) {
        const [id, end, token, permits] = record as [string, number, number, number];
        holders.set(id, { id, expiresIn: (end - time) / 1000, fencingToken: token, permits });
      }
      for (const [id] of recordsOf(answer[5], 4)) waiters.add(String(id));
      if (Number(answer[8]) === 1) continue;
      return { holders: [...holders.values()], waiters: [...waiters], fence, ttl: Math.max(0, ttl) };
    }
  } catch (error) {
    throw explain(`inspect ${spec.what}`, error);
  }
}

/** The records of a flat list. */
function recordsOf(list: unknown, length: number): unknown[][] {
  const flat = list as unknown[];
  return Array.from({ length: flat.length / length }, (_, i) => flat.slice(i * length, (i + 1) * length));
}

/** Takes the hold from whoever has it and hands it to the next in line. */
export async function forceRelease(connection: RedisConnection, spec: ResourceSpec): Promise<boolean> {
  try {
    return await release(connection, spec, "", LIMIT, "force") === "held";
  } catch (error) {
    throw explain(`release ${spec.what} by force`, error);
  }
}
