/**
 * The interface to a store, which keeps the holders and the queue of each name by its own clock. Calls (call/) and
 * holds (lease/) use a store only by this interface; `redis_store.ts` runs scripts, `memory_store.ts` works in this
 * process. Invariant: it is harmless if a request runs twice, or later than its caller waits.
 *
 * A request settles when its answer comes, however late, and perhaps never: its command then counts as unanswered. A
 * store returns durations in milliseconds, because callers do not know its clock.
 *
 * @module
 */
import type { Backend } from "../clients/backend.ts";
import type { Inspection } from "../inspect.ts";
import type { Keys, Settings } from "../options.ts";
import type { RateStore } from "../rate/rate_store.ts";
import type { SentCommand } from "./commands.ts";
import type { Ids } from "./ids.ts";

/**
 * One name in a store, as one class uses it. Immutable, so that a lease carries everything for its renewal and release.
 */
export interface StoredResource {
  readonly keys: Keys;
  /** How it is stored: with at most one holder, or with several whose weights add up to at most `limit`. */
  readonly layout: "lock" | "semaphore";
  readonly settings: Settings;
  readonly weight: number;
  readonly limit: number;
}

/** A call's request, with the same id each time that it asks. */
export interface AcquireRequest {
  readonly id: string;
  readonly spec: StoredResource;
  /** Whether it joins the queue; otherwise the answer decides. */
  readonly waits: boolean;
  /** The caller's position in the queue, as returned by the server; 0 for the end. */
  readonly position: number;
  /** The id of a hold to take over instead of waiting; 0 permits mean any number. */
  readonly adopts?: string | undefined;
  /** Called by a store without messages when it grants the waiting call. */
  granted(fence: number): void;
}

export type AcquireAnswer = Granted | Waiting;

export interface Granted {
  readonly kind: "granted";
  readonly fence: number;
  /** For a hold that was taken over: its weight. */
  readonly weight?: number;
  /** Another limit used by callers of this name; 0 or missing if none is known. */
  readonly differingLimit?: number;
}

export interface Waiting {
  readonly kind: "waiting";
  /** 0 for a caller without a position. */
  readonly position: number;
  /** The last token of this name. */
  readonly fence: number;
  /**
   * Milliseconds until the life of a holder or a waiter ends without a further request; also of a former holder that
   * was released by force.
   */
  readonly endsIn: number;
  /** Whether the channel of this process has no listener. */
  readonly foundNoSubscriber?: boolean;
  /** Whether to send the request again at once: one run is bounded, and more work is left. */
  readonly unfinished?: boolean;
  readonly differingLimit?: number;
}

/** The state of an id before its release. */
export type Prior = "held" | "waiting" | "unknown";

/** A hold whose end to set to one `ttl` from now. */
export interface Renewal {
  readonly id: string;
  readonly spec: StoredResource;
  readonly ttl: number;
  /** Grows with each requested `ttl`: a request with a smaller number than the last one set is late. */
  readonly number: number;
}

/** Whether the end was set; "late" if a later request has set it since. */
export type Renewed = "set" | "lost" | "late";

/** The listener of a subscription. */
export interface PushListener {
  /**
   * Called with each message to the waiting call with this id: it was granted with this token, or, if the token is not
   * new, a lease ahead of it ends earlier than expected.
   */
  readonly receive: (id: string, fence: number) => void;
  /** Called when messages resume; some may have been missed. */
  readonly resumed: () => void;
  /** Called when the subscription has ended by itself. */
  readonly ended: () => void;
}

/** Ends a subscription. */
export type Unsubscribe = () => void | Promise<void>;

export interface Store {
  /**
   * The facts about its connection; none in memory. In a cluster, each request concerns one name, and no server knows
   * all subscribers.
   */
  readonly backend: Pick<Backend, "closed" | "cluster" | "failure" | "losses">;
  /** Aborts when the client is closed. */
  readonly closing?: AbortSignal;
  /** Ids for its calls, unique across processes. */
  readonly ids: Ids;
  /** Grants the call, queues it, or keeps its position in the queue. */
  acquire(request: AcquireRequest, command: SentCommand): Promise<AcquireAnswer>;
  /**
   * Ends the hold or the position of an id, and serves the queue.
   *
   * @param late Whether an acquire of this id may arrive later. It is then refused, unless another id was released
   *   since.
   * @param again Whether an earlier request for a hold has no answer: in a cluster, the queue may be moving.
   */
  release(spec: StoredResource, id: string, command: SentCommand, late: boolean, again?: boolean): Promise<Prior>;
  /** Ends all holds of a name, and serves the queue. Resolves to whether there was one. */
  releaseAll(spec: StoredResource, command: SentCommand): Promise<boolean>;
  /** Sets the ends of holds: of one server and, in a cluster, of one name. */
  renew(holds: readonly Renewal[], command: SentCommand): Promise<Renewed[]>;
  /** Makes the first waiters ask, because a lease ends earlier than they expect. Never rejects. */
  wake?(spec: StoredResource): Promise<void>;
  /** Resolves to the milliseconds left of a hold; 0 or less if it is over. */
  verify(spec: StoredResource, id: string, command: SentCommand): Promise<number>;
  /** Resolves to the holders and the waiters of a name. */
  inspect(spec: StoredResource, command: SentCommand): Promise<Inspection>;
  /** Its rate limits. */
  readonly rates: RateStore;
  /**
   * Listens for the messages to this process about names of a prefix. Missing if there are no messages: waiters then
   * rely on heartbeats, unless the store notifies them itself.
   */
  readonly subscribe?: ((listener: PushListener, prefix: string) => Promise<Unsubscribe>) | undefined;
  /** Warns, once for each client, of a missing right that slows calls down without failing them. */
  warnSlow?(refused: string): void;
  /** Warns that its subscription cannot be opened, with the reason if it is known; once until one is open. */
  warnUnsubscribed?(failure: unknown): void;
  /** Whether a retry may help after this error. */
  mayPass?(error: unknown): boolean;
  /**
   * Why a request that was sent at that time has no answer; undefined if the silence is not longer than `least`.
   * Missing if answers come in the same turn.
   */
  silence?(at: number, least?: number): unknown;
}
