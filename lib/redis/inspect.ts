/**
 * Looking at a name from outside, and freeing it by force.
 *
 * @module
 */
import { explain } from "./errors.ts";
import { release } from "./internal/release_by_id.ts";
import type { Session } from "./internal/session.ts";
import type { Target } from "./internal/resource_spec.ts";

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

export async function inspect(session: Session, target: Target): Promise<Inspection> {
  try {
    const answer = await session.run(target.family.inspect, target.keys, [], LIMIT) as unknown[];
    const [time, ttl, fence] = answer.map(Number) as [number, number, number];
    const holders = answer[4] as unknown[];
    return {
      holders: Array.from({ length: holders.length / 4 }, (_, i) => holderAt(holders, i * 4, time)),
      waiters: (answer[5] as unknown[]).map(String),
      fence,
      ttl: Math.max(0, ttl),
    };
  } catch (error) {
    throw explain(`inspect ${target.what}`, error);
  }
}

function holderAt(list: unknown[], i: number, time: number): Holder {
  return {
    id: String(list[i]),
    expiresIn: (Number(list[i + 1]) - time) / 1000,
    fencingToken: Number(list[i + 2]),
    permits: Number(list[i + 3]),
  };
}

/** Takes the hold from whoever has it and hands it to the next in line. */
export async function forceRelease(session: Session, target: Target): Promise<boolean> {
  try {
    return await release(session, target, "", LIMIT, "force") === "held";
  } catch (error) {
    throw explain(`release ${target.what} by force`, error);
  }
}
