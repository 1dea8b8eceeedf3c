/**
 * The port to a store, which keeps the holders and the queue of each name by a clock of its own. Calls
 * (call/) and holds (lease/) know a store by this interface alone; `redis_store.ts` is the one that runs scripts,
 * `memory_store.ts` the one in this process. Invariant: every request may run twice, or later than its caller waits,
 * and does no harm then.
 *
 * A store answers in durations, in milliseconds: callers do not know its clock.
 *
 * @module
 */
import type { Inspection } from "../inspect.ts";
import type { Keys, Settings } from "../options.ts";
import type { Member } from "./members.ts";
import type { RateStore } from "../rate/rate_store.ts";

/** One name in a store, as one class uses it. Immutable, so that a lease carries all that its renewal and release need. */
export interface StoredName {
  readonly keys: Keys;
  /** Whether it has one holder at most, or several whose weights add up to no more than `limit`. */
  readonly holders: "one" | "weighted";
  readonly settings: Settings;
  /** As errors name it: `lock "orders"`. */
  readonly what: string;
  readonly weight: number;
  readonly limit: number;
}

/** A call's question, which is the same call each time that it asks. */
export interface AcquireRequest {
  readonly id: string;
  readonly spec: StoredName;
  /** Whether it joins the queue; else the answer decides. */
  readonly waits: boolean;
  /** The caller's place in the queue, as the server has named it; 0 for the end. */
  readonly place: number;
  /** The id of the hold that it takes over, in place of waiting for one; 0 permits mean any number. */
  readonly adopts?: string | undefined;
  /** The call has ended: then the request is not sent again. */
  readonly settled: boolean;
}

export type AcquireAnswer =
  | Granted
  | Waiting
  /** The id was released already. */
  | { readonly kind: "refused" };

export interface Granted {
  readonly kind: "granted";
  readonly fence: number;
  /** Of a hold that was taken over: its weight, and the milliseconds until its end, which may be later than a ttl. */
  readonly weight?: number;
  readonly rest?: number;
  /** Another limit that callers of this name use; 0 or missing: none is known. */
  readonly otherLimit?: number;
}

export interface Waiting {
  readonly kind: "waiting";
  /** 0 for a caller that has none. */
  readonly place: number;
  /** The last token of this name. */
  readonly fence: number;
  /** Milliseconds until the life of a holder or a waiter ends, unless it is heard of before. */
  readonly endsIn: number;
  /** Nothing listens on the channel of this process. */
  readonly deaf: boolean;
  /** One run is bounded, and there is more to do: to be sent again at once. */
  readonly more: boolean;
  readonly otherLimit?: number;
}

/** The state of an id before its release. */
export type Was = "held" | "waiting" | "unknown";

/** A hold whose end is to be set to one `ttl` from now. */
export interface Renewal {
  readonly id: string;
  readonly spec: StoredName;
  readonly ttl: number;
  /** Grows with each `ttl` that is asked for: a request with a smaller number than the last one set is late. */
  readonly number: number;
}

/** Whether the end was set; "late" if a later request has set it since. */
export type Renewed = "set" | "lost" | "late";

/** A message from the server to the call with this id. */
export type Push =
  | { readonly kind: "granted"; readonly id: string; readonly fence: number }
  /** A lease ahead of it ends earlier than it knows. */
  | { readonly kind: "ask"; readonly id: string };

/** The other end of a subscription. */
export interface PushListener {
  receive(push: Push): void;
  /** Messages may have been missed, and come again. */
  resumed(): void;
  /** Messages stop; `forGood` if this subscription has ended. */
  lost(forGood: boolean): void;
}

/** Ends a subscription. */
export type Unsubscribe = () => void | Promise<void>;

/** Ends with the client. */
export interface Closable extends Member {
  close(): void;
}

export interface Store {
  /** Whether the client was closed for good. */
  readonly closed: boolean;
  /** How many connections were lost so far, where commands in flight are sent again over the next one. */
  readonly losses: number | undefined;
  /** Whether names live on several servers: one request is then about one name, and no server knows all subscribers. */
  readonly cluster: boolean;
  /** A fresh id, which no other process ever has. */
  newId(): string;
  /**
   * Grants, or puts in the queue, or shows that a waiter still waits.
   *
   * @param limit Milliseconds that it may take, as in the other requests: it rejects then, and may still run.
   * @param late Called with an answer that comes after that.
   */
  acquire(request: AcquireRequest, limit: number, late: (answer: AcquireAnswer) => void): Promise<AcquireAnswer>;
  /**
   * Ends the hold or the place of an id, and serves the queue.
   *
   * @param late Whether an acquire of this id may come later: it is to be refused then, if no other id was released since.
   * @param again Whether an earlier request for a hold has no answer: in a cluster, the queue may be on the move.
   */
  release(spec: StoredName, id: string, limit: number, late: boolean, again?: boolean): Promise<Was>;
  /** Ends all holds of a name, and serves the queue. Resolves to whether there was one. */
  releaseAll(spec: StoredName, limit: number): Promise<boolean>;
  /** Sets the ends of holds: of one server and, in a cluster, of one name. */
  renew(holds: readonly Renewal[], limit: number, late?: (renewed: Renewed[]) => void): Promise<Renewed[]>;
  /** Has the first waiters ask, since a lease ends earlier than they know. Never rejects. */
  wake(spec: StoredName, limit: number): Promise<void>;
  /** Resolves to the milliseconds that are left of a hold; 0 or less: it is over. */
  verify(spec: StoredName, id: string, limit: number): Promise<number>;
  /** Resolves to the holders and the waiters of a name. */
  inspect(spec: StoredName, limit: number): Promise<Inspection>;
  /** Its rate limits. */
  readonly rates: RateStore;
  /** Whether a subscription costs nothing: it then begins with each listener, and ends with the last one. */
  readonly subscribesFreely: boolean;
  /**
   * Listens for the messages to this process about names of a prefix. Missing where there are none: waiters find out by
   * heartbeats.
   */
  readonly subscribe: ((listener: PushListener, prefix: string) => Promise<Unsubscribe | undefined>) | undefined;
  /** Warns, once for each client, of a missing right that fails no call. Default: everything takes longer. */
  warnSlow(refused: string, effect?: string): void;
  /** Warns, once for each client, that its subscription cannot be opened, with the reason if it is known. */
  warnDeaf(failure: unknown): void;
  /** Whether it is worth trying again after this error. */
  mayPass(error: unknown): boolean;
  /** The reason why a request has no answer after `ms`. */
  silence(ms: number): unknown;
  /** Closes it when the client is closed, unless that is called off before. */
  onClose(closable: Closable): void;
  offClose(closable: Closable): void;
}
