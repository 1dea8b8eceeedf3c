/**
 * Looking at a name from outside, and freeing it by force.
 *
 * @module
 */
import { explain } from "./errors.ts";
import { PAGE } from "./scripts/inspect.ts";
import { release } from "./internal/release_by_id.ts";
import type { ResourceSpec } from "./internal/resource_spec.ts";

/** A waiter of a name. */
export interface Waiter {
  /** Identifies the call; the `id` of its lease once it is granted. */
  readonly id: string;
  /** Identifies the client that made the call: different for each backend of each process. */
  readonly process: string;
  /** The option `owner` of its process, if it has one. */
  readonly owner?: string;
  /** The start of the hold or the wait, in epoch milliseconds by the server's clock. */
  readonly since: number;
  /** Milliseconds until the lease ends unless it is renewed, or until the waiter counts as dead unless it asks. */
  readonly expiresIn: number;
}

/** A holder of a name. */
export interface Holder extends Waiter {
  /** The token of its lease. */
  readonly fencingToken: number;
  /** Permits that it holds. */
  readonly permits: number;
}

/** The state of a name, at one moment; of a crowded one, page by page. */
export interface Inspection {
  /** Holders whose lease has not ended. */
  readonly holders: Holder[];
  /** The first 1,000 waiters of the queue, in its order. */
  readonly waiters: Waiter[];
  /** The number of all waiters, among which some behind the first 1,000 may be dead. */
  readonly waiting: number;
  /** The last fencing token; 0 if there is no data. */
  readonly fence: number;
  /** Milliseconds until Redis drops the data of this name if nothing happens; 0 if there is none. */
  readonly ttl: number;
}

/** The beginning of an id, which names the client. */
const PROCESS_LENGTH = 13;

/** Milliseconds for one page. */
const LIMIT = 5000;

/** Items of one holder, and of one waiter, in the script's answer. */
const [HOLDER, WAITER] = [6, 4];

export async function inspect(spec: ResourceSpec): Promise<Inspection> {
  // By id: between two pages one may move up and be seen again.
  const holders = new Map<string, Holder>();
  const waiters = new Map<string, Waiter>();
  let dead = 0;
  try {
    for (let from = 0;; from += PAGE) {
      const answer = await spec.connection.run(spec.family.inspect, spec.keys, [String(from)], LIMIT) as unknown[];
      const [time = 0, ttl = 0, fence = 0, , , , queued = 0, deadHere = 0, more] = answer.map(Number);
      for (const [id, end, token, permits, since, owner] of recordsOf(answer[4], HOLDER)) {
        const party = partyOf(id, since, owner, Number(end) - time);
        holders.set(party.id, { ...party, fencingToken: Number(token), permits: Number(permits) });
      }
      for (const [id, since, alive, owner] of recordsOf(answer[5], WAITER)) {
        const party = partyOf(id, since, owner, Number(alive) - time);
        waiters.set(party.id, party);
      }
      dead += deadHere;
      if (more === 1) continue;
      const waiting = Math.max(waiters.size, queued - dead);
      return { holders: [...holders.values()], waiters: [...waiters.values()], waiting, fence, ttl: Math.max(0, ttl) };
    }
  } catch (error) {
    throw explain(`inspect ${spec.what}`, error);
  }
}

/** Times in the answer are microseconds. */
function partyOf(id: unknown, since: unknown, owner: unknown, rest: number): Waiter {
  const text = String(id);
  return {
    id: text,
    process: text.slice(0, PROCESS_LENGTH),
    ...owner !== "" && { owner: String(owner) },
    since: Math.floor(Number(since) / 1000),
    expiresIn: rest / 1000,
  };
}

/** The records of a flat list. */
function recordsOf(list: unknown, length: number): unknown[][] {
  const flat = list as unknown[];
  return Array.from({ length: flat.length / length }, (_, i) => flat.slice(i * length, (i + 1) * length));
}

/** Revokes all holds and hands off to the next waiters. */
export async function forceRelease(spec: ResourceSpec): Promise<boolean> {
  try {
    return await release(spec, "", LIMIT, "force") === "held";
  } catch (error) {
    throw explain(`release ${spec.what} by force`, error);
  }
}
