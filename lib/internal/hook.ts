/**
 * The one place where waits, grants, cancellations and releases are reported. Invariant: `hook` is undefined exactly
 * while no observer is on, so an unobserved path costs one load and one comparison:
 * `if (hook !== undefined) hook.grant(…)`. lib/diagnostics sets the hook and makes the events.
 *
 * @module
 */
import { timersEndWithRequest } from "./platform.ts";

/**
 * A thing with a queue: a lock, one key of a keyed mutex, a pool, … It states the facts about itself; nothing is derived
 * from the text of its kind. Facts that are not stated have their defaults, so that most things carry no such member.
 */
export interface Resource {
  /** As in the events: "lock", "semaphore", "reader", "key", "pool", "redis-lock", … */
  readonly kind: string;
  /** The name that the user gave it. */
  readonly name: string | undefined;
  /** The key, where the resource is one of many. */
  readonly key?: unknown;
  /** The same for resources whose holders block each other's waiters: the sides of a RwLock, two RedisLocks of one name. */
  readonly group?: unknown;
  /** Its noun in messages. Default: its kind, with spaces. */
  readonly noun?: string;
  /** Whether a grant is a hold, which ends in a release. If not, the grant ends the acquisition. Default: true. */
  readonly isHeld?: boolean;
  /** Whether holders may be in other processes. Default: false. */
  readonly isRemote?: boolean;
  /** Whether a hold excludes every other. Default: by the unit. For remote things, whose holders are not all known. */
  readonly isExclusive?: boolean;
  /** Whether its calls start work beside their caller, which goes on without them. Default: false. */
  readonly isStart?: boolean;
  /** Whether a call that waits now goes on when holders release. If not, it waits for a rate or a limit. Default: it does. */
  waitsForRelease?(): boolean;
  /** How many permits are one to its caller, as all of them are to a writer. Default: 1. */
  readonly unit?: number;
}

/** How a wait ended without a grant. */
export type GiveUpOutcome = "timeout" | "aborted" | "error" | "full";

/**
 * The notifications. `call` is the object that identifies one acquisition from its wait to its release: the
 * guard, the waiter or the lease. Each wait ends in one grant or one giveUp, each grant of something that can be held in
 * one release; a free acquire is a grant without a wait. No method throws.
 */
export interface Hook {
  /**
   * `call` begins. Only for calls that report their wait or grant in a later turn (Redis), where a stack trace no longer
   * shows the caller. With `like`, it was made by the same call of the user as that one, which began then.
   */
  begin(call: object, like?: object): void;
  /** `call` has joined the queue. Called in the caller's own turn, so that a stack trace shows the caller. */
  wait(resource: Resource, call: object, permits: number): void;
  /** `call` holds now, with or without having waited. Its release names `hold`, its guard. Default: `call`. */
  grant(resource: Resource, call: object, permits: number, hold?: object): void;
  /** `call` has left the queue without a grant; with "full", it was refused and has never waited. */
  giveUp(resource: Resource, call: object, outcome: GiveUpOutcome, permits: number): void;
  /** `call` has ended its hold, or lost it. */
  release(resource: Resource, call: object, isLost?: boolean): void;
  /** A caller without the guard, which may be another one, is about to release that hold (`Lock.release()`). */
  releaseWithoutGuard(hold: object): void;
  /** Permits were given back without a guard (`Semaphore.release()`): the oldest holds count as ended. */
  giveBack(resource: Resource, permits: number): void;
  /** Calls `fn`, which runs while `call` holds, so that waits inside of it are known to be its own. */
  run<T>(call: object, fn: () => T): T;
  /** The error that `call`, which is about to wait, rejects with at once: it waits for what its own `run` holds. */
  deadlockOf(resource: Resource, call: object, operation: string): Error | undefined;
  /** The end of a TimeoutError's message: empty, or "; held for 3204 ms, acquired at checkout.ts:41". */
  holderOf(resource: Resource): string;
}

/** The hook, while an observer is on. */
export let hook: Hook | undefined;

/** Whether a wait needs its promise alone: no observer is on, and the platform lets requests wait for each other. */
export let isPlain: boolean = !timersEndWithRequest;

/** The reports of the present step, not told yet. */
const untold: (() => void)[] = [];
let depth = 0;

/**
 * Runs a step, such as a release with its hand-over. What it reports by {@linkcode tell} is told in order once the outermost
 * step is complete: code of an observer that uses the same queue finds it whole.
 */
export function step(fn: () => void): void {
  depth++;
  try {
    fn();
  } finally {
    if (--depth === 0 && untold.length > 0) tellAll();
  }
}

/** Reports something at once, or at the end of the present step. */
export function tell(report: (hook: Hook) => void): void {
  untold.push(() => hook && report(hook));
  if (depth === 0) tellAll();
}

/** What observers do meanwhile is told behind the rest. */
function tellAll(): void {
  depth++;
  for (let report = untold.shift(); report !== undefined; report = untold.shift()) report();
  depth--;
}

/** For lib/diagnostics alone. */
export function setHook(next: Hook | undefined): void {
  hook = next;
  isPlain = next === undefined && !timersEndWithRequest;
}
