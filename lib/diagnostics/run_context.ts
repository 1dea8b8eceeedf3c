/**
 * Tracks across awaits which `run` a piece of code is part of, to recognize a wait inside a hold, and which
 * acquisitions it has made, to recognize a release of another caller's hold.
 *
 * @module
 */
import { builtin } from "../internal/platform.ts";

// Before Node 24, a store lives as long as every promise made under it. An unread stack keeps the promises of its async
// frames. So a store holds neither a stack nor an acquisition: they would form a chain from each call to the one before.

/** The function of one `run`, and the `run` around it. */
export interface Frame {
  /** The object that identifies the acquisition; the `run` keeps it alive. */
  readonly call: WeakRef<object>;
  parent: Frame | undefined;
}

/** An acquisition, granted or not, and the key of its group. */
interface Note {
  readonly id: number;
  readonly key: unknown;
}

interface Storage<S> {
  getStore(): S | undefined;
  run<T>(store: S, fn: () => T): T;
  enterWith?(store: S): void;
}

interface AsyncHooks {
  AsyncLocalStorage: new <S>() => Storage<S>;
}

let storage: Storage<Frame> | undefined;
let recent: Storage<readonly Note[]> | undefined;

/** Creates storages on first use, because they cost run time from then on. */
function made<S>(): Storage<S> | undefined {
  const AsyncLocalStorage = builtin<AsyncHooks>("async_hooks")?.AsyncLocalStorage;
  return AsyncLocalStorage && new AsyncLocalStorage();
}

/** How many acquisitions of a piece of code are remembered. */
const RECENT = 8;

/**
 * Notes an acquisition by the present code, in this turn: code that follows in the same function, even after an
 * `await`, can look it up.
 */
export function noteCall(id: number, key: unknown): void {
  recent ??= made();
  recent?.enterWith?.([{ id, key }, ...(recent.getStore() ?? []).slice(0, RECENT - 1)]);
}

/** Returns the ids of the present code's acquisitions in the group with this key, the latest first. */
export function callsOn(key: unknown): number[] {
  return (recent?.getStore() ?? []).filter((note) => note.key === key).map(({ id }) => id);
}

/** The innermost `run` around the present code. */
export function currentFrame(): Frame | undefined {
  return storage?.getStore();
}

/** Calls `fn` as the function of a `run`. Without AsyncLocalStorage (browsers, Node before 20.16) it just calls it. */
export function runInFrame<T>(call: object, fn: () => T, isHeld: (call: object) => boolean): T {
  const known = storage ??= made();
  if (known === undefined) return fn();
  return known.run({ call: new WeakRef(call), parent: heldFrame(known.getStore(), isHeld) }, fn);
}

/**
 * Returns the innermost frame whose hold lasts. Skipping ended holds bounds the chain for work that outlives its `run`.
 */
function heldFrame(frame: Frame | undefined, isHeld: (call: object) => boolean): Frame | undefined {
  for (let call; frame !== undefined && !((call = frame.call.deref()) && isHeld(call));) frame = frame.parent;
  if (frame !== undefined) frame.parent = heldFrame(frame.parent, isHeld);
  return frame;
}
