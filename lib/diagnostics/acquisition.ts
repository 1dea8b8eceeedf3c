/**
 * One acquisition while it waits or holds, and its resource.
 *
 * @module
 */
import { quote } from "../internal/check.ts";
import type { Resource } from "../internal/hook.ts";
import { onceFor } from "../internal/once.ts";
import type { RunScope } from "./run_context.ts";
import { callerIn, type CallSite, type SourceLine } from "./call_site.ts";

/** The origin of a call. It does not change when a Condition takes the hold back for its guard. */
export class CallOrigin {
  static #lastId = 0;
  readonly id = ++CallOrigin.#lastId;
  /** The `run` in which the call was made, while a listener asks for it. */
  readonly run: RunScope | undefined;
  /** When the call was made, if it is reported in a later turn: the wait counts from then on. */
  readonly began: number | undefined;
  /**
   * The stack, captured while a listener asks for call sites, or the origin that has captured it; read late or never.
   */
  #stack: Error | CallOrigin | undefined;
  #site: SourceLine | undefined;

  constructor(run: RunScope | undefined, stack: Error | CallOrigin | undefined, began?: number) {
    this.run = run;
    this.began = began;
    this.#stack = stack;
  }

  /** The caller's file and line. */
  get site(): SourceLine | undefined {
    const stack = this.#stack;
    this.#stack = undefined; // read once: a stack takes about 3 kB
    try {
      if (stack !== undefined) this.#site = stack instanceof CallOrigin ? stack.site : callerIn(stack.stack);
    } catch { /* Error.prepareStackTrace threw */ }
    return this.#site;
  }
}

/** A resource as an observer sees it: a lock, one key of a keyed mutex, a pool, … */
export interface ObservedThing {
  /** As in the events. */
  readonly kind: string;
  /** The name passed to its constructor. */
  readonly name: string | undefined;
  /** The key, for one key of a KeyedMutex or RedisKeyedMutex. */
  readonly key: unknown;
  /** Whether a grant is a hold, which ends in a release; false for an Event or a RateLimiter. */
  readonly isHeld: boolean;
  /** Whether it may be held in other processes. */
  readonly isRemote: boolean;
  /**
   * Its name in messages: `lock "orders"`, `lock "users" for key 42`, or `lock #3` for the third resource without a
   * name.
   */
  readonly label: string;
}

/** One acquisition, live: its members change with the call. */
export interface ObservedCall {
  /** The id of its events. */
  readonly id: number;
  /** The resource that it waits for or holds: the same object for all its calls. */
  readonly thing: ObservedThing;
  /** The number of permits asked for. */
  readonly permits: number;
  /** Its present state. */
  readonly state: "waits" | "holds" | "ended";
  /** When it began to wait or to hold, in ms on the clock of `performance.now()`. */
  readonly since: number;
  /** Whether it waits or has waited; false for a free acquire. */
  readonly hasWaited: boolean;
  /** Where the call was made, if a watchdog was on at that time. The first read is slow. */
  readonly site: CallSite | undefined;
}

/** One acquisition. It is in one of its group's two sets exactly while it waits or holds. */
export class Acquisition implements ObservedCall {
  readonly id: number;
  readonly resource: Resource;
  readonly permits: number;
  readonly origin: CallOrigin;
  readonly group: Group;
  /** When it began to wait or to hold, on the clock of `performance.now()`. */
  since = 0;
  state: "waits" | "holds" | "ended" = "ended";
  /** False for a free acquire. */
  hasWaited = false;

  constructor(id: number, resource: Resource, permits: number, origin: CallOrigin, group: Group) {
    this.id = id;
    this.resource = resource;
    this.permits = permits;
    this.origin = origin;
    this.group = group;
  }

  /** Whether its grant is a hold, which ends in a release. */
  get createsHold(): boolean {
    return this.resource.isHeld !== false;
  }

  get thing(): ObservedThing {
    return thingOf(this.resource);
  }

  get site(): CallSite | undefined {
    return this.origin.site;
  }
}

/**
 * The waiters and holders of one resource, or of several that share their holders. In both sets the oldest come first.
 */
export interface Group {
  /** The key in the registry: the `sharedState` of its resources if they have one, else the only resource itself. */
  readonly key: unknown;
  readonly waits: Set<Acquisition>;
  readonly holds: Set<Acquisition>;
  /** The registry that it belongs to. Acquisitions of a registry that was replaced are ignored. */
  readonly registry: object;
}

/** Formats a call's place with `before` ahead, as in ` at checkout.ts:41`; empty if the place is unknown. */
export function atSite({ origin: { site } }: Pick<Acquisition, "origin">, before = " at"): string {
  return site === undefined ? "" : `${before} ${site}`;
}

/** The number of resources without a name so far; the next one gets it as its number. */
let unnamedCount = 0;

/** The public view of a resource. */
const thingOf = onceFor((resource: Resource): ObservedThing => {
  const { kind, name, key, noun = kind.replace(/-/g, " "), isHeld = true, isRemote = false } = resource;
  const nameOrNumber = name === undefined ? (key === undefined ? ` #${++unnamedCount}` : "") : ` ${quote(name)}`;
  const label = `${noun}${nameOrNumber}${key === undefined ? "" : ` for key ${quote(key)}`}`;
  return Object.freeze({ kind, name, key, isHeld, isRemote, label });
});
