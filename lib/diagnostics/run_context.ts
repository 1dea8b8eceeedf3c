/**
 * Tracks across awaits which `run` a piece of code is part of, to recognize a wait inside a hold, and which
 * acquisitions it has made, to recognize a release of another caller's hold.
 *
 * @module
 */
import { builtin } from "../internal/platform.ts";

/** The function of one `run`, and the `run` around it. */
export interface Frame {
  /** The object that identifies the acquisition. */
  readonly call: object;
  parent: Frame | undefined;
}

/** An acquisition, granted or not. */
interface Attempt {
  readonly group: { readonly key: unknown };
  readonly isRefused: boolean;
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
let recent: Storage<readonly Attempt[]> | undefined;

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
export function noteCall(acquisition: Attempt): void {
  recent ??= made();
  recent?.enterWith?.([acquisition, ...(recent.getStore() ?? []).slice(0, RECENT - 1)]);
}

/**
 * Returns the present code's last acquisition of the same resource if it was refused, and whether the code has made the
 * hold too.
 */
export function refusedBefore<A extends Attempt>(hold: A): { refused: A | undefined; isOwn: boolean } {
  const calls = recent?.getStore() ?? [];
  const last = calls.find(({ group }) => group.key === hold.group.key);
  return { refused: last?.isRefused ? last as A : undefined, isOwn: calls.includes(hold) };
}

/** The innermost `run` around the present code. */
export function currentFrame(): Frame | undefined {
  return storage?.getStore();
}

/** Calls `fn` as the function of a `run`. Without AsyncLocalStorage (browsers, Node before 20.16) it just calls it. */
export function runInFrame<T>(call: object, fn: () => T, isHeld: (call: object) => boolean): T {
  const known = storage ??= made();
  return known === undefined ? fn() : known.run({ call, parent: heldFrame(known.getStore(), isHeld) }, fn);
}

/**
 * Returns the innermost frame whose hold lasts. Skipping ended holds bounds the chain for work that outlives its `run`.
 */
function heldFrame(frame: Frame | undefined, isHeld: (call: object) => boolean): Frame | undefined {
  while (frame !== undefined && !isHeld(frame.call)) frame = frame.parent;
  if (frame !== undefined) frame.parent = heldFrame(frame.parent, isHeld);
  return frame;
}
