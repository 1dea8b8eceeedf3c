/**
 * The visible state of a name.
 *
 * @module
 */
import { PROCESS_LENGTH } from "./scripts/script.ts";

/** A waiter of a name. */
export interface Waiter {
  /** Identifies the call; the `id` of its lease once it is granted. */
  readonly id: string;
  /** Identifies the calling client: different for each backend of each process. */
  readonly process: string;
  /** The option `owner` of its process, if it has one. */
  readonly owner?: string;
  /** The start of the wait, in epoch milliseconds by the server's clock. */
  readonly since: number;
  /** Milliseconds until the waiter counts as dead without a further heartbeat. */
  readonly expiresIn: number;
}

/** A holder of a name. */
export interface Holder extends Waiter {
  /** The start of the hold, in epoch milliseconds by the server's clock. */
  readonly since: number;
  /** Milliseconds until the lease ends unless it is renewed. */
  readonly expiresIn: number;
  /** The token of its lease. */
  readonly fencingToken: number;
  /** Permits that it holds. */
  readonly permits: number;
}

/** The state of a name at one moment. A large state is read page by page. */
export interface Inspection {
  /** Holders whose lease has not ended. */
  readonly holders: Holder[];
  /** The first 1,000 waiters of the queue, in its order. */
  readonly waiters: Waiter[];
  /** The number of all waiters. Waiters behind the first 1,000 may be dead. */
  readonly waiting: number;
  /** The last fencing token; 0 if there is no data. */
  readonly fence: number;
  /** Milliseconds until Redis drops the data of this name without further commands; 0 if there is none. */
  readonly ttl: number;
}

/** @param owner "" for none. */
export function callerOf(id: string, owner: string, since: number, expiresIn: number): Waiter {
  return { id, process: id.slice(0, PROCESS_LENGTH), ...owner !== "" && { owner }, since, expiresIn };
}
