/**
 * Reports waits, grants, cancellations and releases to observers. Invariant: `hook` is undefined exactly while no
 * observer is on, so an unobserved path costs one load and one comparison: `hook?.grant(…)`.
 * lib/diagnostics sets the hook and makes the events.
 *
 * @module
 */
import { timersEndWithRequest } from "./platform.ts";

/**
 * A resource with a queue: a lock, one key of a keyed mutex, a pool, … It states its own facts; none is derived from
 * the text of its kind. Facts have defaults, so most resources have few of these members.
 */
export interface Resource {
  /**
   * As in the events: "lock", "semaphore", "reader", "key", "pool", "redis-lock", … Empty for inner waits, which are
   * not reported.
   */
  readonly kind: string;
  /** The user's name for it. */
  readonly name: string | undefined;
  /** The key, for a resource that is one of many. */
  readonly key?: unknown;
  /**
   * Shared by resources whose holders block each other's waiters: the sides of a RwLock, two RedisLocks of one name.
   */
  readonly sharedState?: unknown;
  /** Its noun in messages. Default: its kind, with spaces. */
  readonly noun?: string;
  /** Whether a grant is a hold, which ends in a release. If not, the grant ends the acquisition. Default: true. */
  readonly isHeld?: boolean;
  /** Whether holders may be in other processes. Default: false. */
  readonly isRemote?: boolean;
  /**
   * Whether a hold excludes all others. For remote resources, whose holders are not all known. Default: by the unit.
   */
  readonly isExclusive?: boolean;
  /** Whether its calls start work that runs beside the caller. Default: false. */
  readonly isStart?: boolean;
  /** Whether the present waiters wait for a release, rather than for a rate or a limit. Default: true. */
  waitsForRelease?(): boolean;
  /** How many permits the caller counts as one: a writer takes all of them. Default: 1. */
  readonly unit?: number;
}

/** How a wait ended without a grant. */
export type GiveUpOutcome = "timeout" | "aborted" | "error" | "full";

/**
 * The notifications. `call` identifies one acquisition from its wait to its release: the guard, the waiter or the
 * lease. Each wait ends in one grant or one giveUp, and each grant of a hold ends in one release. An acquisition of a
 * free resource is a grant without a wait. No method throws.
 */
export interface Hook {
  /**
   * Runs a step. Observers are notified in order once the outermost step is complete, so that an observer that uses the
   * same queue finds it in a sound state.
   */
  step<T>(fn: () => T): T;
  /**
   * `call` begins. Only for calls that report their wait or grant in a later turn (Redis), where a stack trace no
   * longer shows the caller. `earlier` is another object of the same user call, whose beginning it shares.
   */
  begin(call: object, earlier?: object): void;
  /** `call` has joined the queue. Called in the caller's own turn, so that a stack trace shows the caller. */
  wait(resource: Resource, call: object, permits: number): void;
  /** `call` now holds, whether or not it has waited. Its release names `hold`, the guard. Default: `call`. */
  grant(resource: Resource, call: object, permits: number, hold?: object): void;
  /** `call` has left the queue without a grant; with "full", it was refused and has never waited. */
  giveUp(resource: Resource, call: object, outcome: GiveUpOutcome, permits: number): void;
  /** A hold has ended, or is lost. `hold` is the guard that its grant withName, else the call itself. */
  release(resource: Resource, hold: object, isLost?: boolean): void;
  /** The renewal of a lease has failed, or has no answer. It may still be renewed in time. */
  failRenewal(resource: Resource): void;
  /** A caller without the guard, perhaps not the holder, is about to release the hold (`Lock.release()`). */
  releaseWithoutGuard(hold: object): void;
  /** Permits were given back without a guard (`Semaphore.release()`): the oldest holds count as ended. */
  giveBack(resource: Resource, permits: number): void;
  /** Calls `fn` while `call` holds, and attributes waits inside `fn` to `call`. */
  run<T>(call: object, fn: () => T): T;
  /** The error with which `call` rejects instead of waiting, if it would wait for a hold of its own `run`. */
  deadlockErrorOf(resource: Resource, call: object, operation: string): Error | undefined;
  /** The end of a TimeoutError's message: empty, or "; held for 3204 ms, acquired at checkout.ts:41". */
  holderText(resource: Resource): string;
}

/** Set while an observer is on. */
export let hook: Hook | undefined;

/** Whether a wait needs only a promise: no observer is on, and the platform lets requests wait for each other. */
export let needsOnlyPromise: boolean = !timersEndWithRequest;

/** Runs a step, such as a release with its hand-off. Observers hear of its parts once it is complete. */
export function step<T>(fn: () => T): T {
  return hook === undefined ? fn() : hook.step(fn);
}

/** Used only by lib/diagnostics. */
export function setHook(next: Hook | undefined): void {
  hook = next;
  needsOnlyPromise = next === undefined && !timersEndWithRequest;
}
