/**
 * The port to a store, which keeps the holders and the queue of each name by a clock of its own. Calls
 * (acquire/) and holds (lease/) know a store by this interface alone; `redis_store.ts` is the one that runs scripts,
 * `memory_store.ts` the one in this process. Invariant: every request may run twice, or later than its caller waits,
 * and does no harm then.
 *
 * Times of the server are microseconds on its clock; all other times are milliseconds.
 *
 * @module
 */
import type { Inspection } from "../inspect.ts";
import type { Keys, Settings } from "../options.ts";
import type { Member } from "./members.ts";
import type { RateStore } from "../rate/rate_store.ts";
import type { ServerClock } from "../clock.ts";

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
  /** The clock of the server that has the name. */
  readonly clock: ServerClock;
}

/** How the server reaches a caller. */
export const NotifyMode = {
  /** By push, over a confirmed subscription: if nothing listens, the waiter is dead. */
  push: "c",
  /** By its own heartbeats, and by a push that may get lost. */
  heartbeat: "h",
  /** Not at all: the caller does not wait. */
  none: "t",
} as const;

export type NotifyMode = typeof NotifyMode[keyof typeof NotifyMode];

/** A call's question, which is the same call each time that it asks. */
export interface AcquireRequest {
  readonly id: string;
  readonly spec: StoredName;
  readonly mode: NotifyMode;
  /** The caller's place in the queue; 0 for the end. */
  readonly place: number;
  /** Server time after which it is refused. */
  readonly latest: number;
  /** The id of the hold that it takes over, in place of waiting for one; 0 permits mean any number. */
  readonly adopts?: string | undefined;
  /** The call has ended: then the request is not sent again. */
  readonly settled: boolean;
}

export type AcquireAnswer =
  | Granted
  | Waiting
  /** It came too late by the server's clock, or the id was released already. */
  | { readonly kind: "refused" };

export interface Granted {
  readonly kind: "granted";
  readonly fence: number;
  /** Of a hold that was taken over: its weight, and the milliseconds until its end, which may be later than a ttl. */
  readonly weight?: number;
  readonly rest?: number;
}

export interface Waiting {
  readonly kind: "waiting";
  readonly serverTime: number;
  /** 0 for a caller that has none. */
  readonly place: number;
  /** The last token of this name. */
  readonly fence: number;
  /** When a lease ahead of the caller ends; 0 if that is no reason to ask. */
  readonly askAt: number;
  /** Nothing listens on the caller's channel, although it has subscribed. */
  readonly deaf: boolean;
  /** One run is bounded, and there is more to do: to be sent again at once. */
  readonly more: boolean;
}

/** The state of an id before its release. */
export type Was = "held" | "waiting" | "unknown";

/** A hold whose end is to be set to one `ttl` from now. */
export interface Renewal {
  readonly id: string;
  readonly spec: StoredName;
  readonly ttl: number;
}

export interface RenewRequest {
  /** Of one server and, in a cluster, of one name. */
  readonly holds: readonly Renewal[];
  /** Whether the end may become earlier than it was. */
  readonly exact: boolean;
  /** Whether no waiter is notified, so that a renewal succeeds while the queue's keys are on the move in a cluster. */
  readonly own: boolean;
  /** Server time after which it is refused. */
  readonly latest: number;
}

/** A message from the server to the call with this id. */
export type Push =
  | { readonly kind: "granted"; readonly id: string; readonly fence: number; readonly serverTime: number }
  /** A lease ahead of a waiter ends at `at`. */
  | { readonly kind: "lease ends"; readonly id: string; readonly at: number; readonly serverTime: number };

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
  /** The clock of the server that has these keys. */
  clockOf(keys: readonly [string, ...string[]]): ServerClock;
  /**
   * Makes the server of this name ready for requests, as its time has to be known: one short command in the life of a
   * process. Returns undefined if it is ready.
   */
  ready(spec: StoredName, limit: number): Promise<void> | undefined;
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
   * @param again Whether an earlier request for a hold has no answer: in a cluster, its keys may be on the move.
   */
  release(spec: StoredName, id: string, limit: number, again?: boolean): Promise<Was>;
  /** Ends all holds of a name, and serves the queue. Resolves to whether there was one. */
  releaseAll(spec: StoredName, limit: number): Promise<boolean>;
  /** Resolves to whether each hold is known; undefined if the request came too late by the server's clock. */
  renew(
    request: RenewRequest,
    limit: number,
    late?: (known: boolean[] | undefined) => void,
  ): Promise<boolean[] | undefined>;
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
