/**
 * One acquisition while it waits or holds, and the thing that it waits for or holds.
 *
 * @module
 */
import { quote } from "../internal/check.ts";
import type { Resource } from "../internal/hook.ts";
import type { Frame } from "./run_context.ts";
import { callerIn, type CallSite } from "./call_site.ts";

/** Where a call came from. It stays the same if a Condition takes the hold back for its guard. */
export class Origin {
  /** The `run` that the call was made in, while a listener asks for frames. */
  readonly frame: Frame | undefined;
  /** Captured while a listener asks for call sites; read late or never. */
  #stack: Error | undefined;
  #site: CallSite | undefined;

  constructor(frame: Frame | undefined, stack: Error | undefined) {
    this.frame = frame;
    this.#stack = stack;
  }

  /** The caller's file and line. */
  get site(): CallSite | undefined {
    if (this.#stack !== undefined) this.#site = callerIn(this.#stack.stack);
    this.#stack = undefined;
    return this.#site;
  }
}

/** One acquisition. It is in one of its group's two sets exactly while it waits or holds. */
export class Entry {
  readonly id: number;
  readonly resource: Resource;
  readonly permits: number;
  readonly origin: Origin;
  readonly group: Group;
  /** The registry that it belongs to: a later one does not know it. */
  readonly registry: object;
  /** When it began to wait or to hold, on the clock of `performance.now()`. */
  since = 0;
  state: "waits" | "holds" | "ended" = "ended";
  /** False for a free acquire. */
  hasWaited = false;

  constructor(id: number, resource: Resource, permits: number, origin: Origin, group: Group, registry: object) {
    this.id = id;
    this.resource = resource;
    this.permits = permits;
    this.origin = origin;
    this.group = group;
    this.registry = registry;
  }
}

/** The waiters and holders of one resource, or of several that share their holders. Both sets: oldest first. */
export class Group {
  readonly key: unknown;
  readonly waits: Set<Entry> = new Set();
  readonly holds: Set<Entry> = new Set();

  constructor(key: unknown) {
    this.key = key;
  }
}

/** Kinds that are waited for and never held: their grant ends the acquisition. */
const NEVER_HELD = new Set(["condition", "event", "set-event", "barrier", "rate-limiter"]);

/** The permits that a caller asked for. A writer takes all that there are, which is one hold to its caller. */
export function permitsOf({ kind }: Resource, permits: number): number {
  return kind.endsWith("writer") ? 1 : permits;
}

/** Whether a grant of that kind is followed by a release. */
export function isHeld(kind: string): boolean {
  return !NEVER_HELD.has(kind);
}

const numbers = new WeakMap<object, number>();
let unnamed = 0;

/** As in `lock "orders"`, `lock "users" for key 42`, or `lock #3` for the third unnamed thing that was shown. */
export function labelOf(resource: Resource): string {
  const { kind, name, key } = resource;
  const what = kind.replace(/\bkey$/, "lock").replaceAll("-", " ");
  const which = name === undefined ? (key === undefined ? ` #${numberOf(resource)}` : "") : ` ${quote(name)}`;
  return `${what}${which}${key === undefined ? "" : ` for key ${quote(key)}`}`;
}

function numberOf(resource: Resource): number {
  let number = numbers.get(resource);
  if (number === undefined) numbers.set(resource, number = ++unnamed);
  return number;
}
