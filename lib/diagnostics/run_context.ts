/**
 * Tracks across awaits which `run` a piece of code is part of, to recognize a wait inside a hold, and which
 * acquisitions it has made, to recognize a release of another caller's hold.
 *
 * @module
 */
import { builtin } from "../internal/platform.ts";

// Before Node 24, a store lives as long as every promise made under it. An unread stack keeps the promises of its async
// frames. So a store holds neither a stack nor an acquisition: they would form a chain from each call to the one
// before. Nor does it hold a WeakRef, which keeps its target until the macrotask ends: 100,000 runs in one macrotask kept
// 226 MB (Node 20.20).

/** The function of one `run`, and the `run` around it. */
export interface RunScope {
  /** The id of the acquisition's origin. */
  readonly originId: number | undefined;
  parent: RunScope | undefined;
}

/** What is known of a piece of code. */
interface Context {
  readonly run: RunScope | undefined;
  /** Its latest acquisitions, granted or not, each with the key of its group; the latest first. */
  readonly notes: readonly { readonly id: number; readonly key: unknown }[];
}

interface Storage {
  getStore(): Context | undefined;
  run<T>(context: Context, fn: () => T): T;
  enterWith?(context: Context): void;
}

let storage: Storage | undefined;

/** Creates the storage on first use, because it costs run time from then on. */
function createStorage(): Storage | undefined {
  const asyncHooks = builtin<{ AsyncLocalStorage: new () => Storage }>("async_hooks");
  return storage ??= asyncHooks && new asyncHooks.AsyncLocalStorage();
}

function presentContext(): Context {
  return storage?.getStore() ?? { run: undefined, notes: [] };
}

/** Maximum number of acquisitions of a piece of code that are remembered. */
const MOST_NOTES = 8;

/**
 * Notes an acquisition by the present code, in this turn: code that follows in the same function, even after an
 * `await`, can look it up.
 */
export function noteCall(id: number, key: unknown): void {
  const { run, notes } = presentContext();
  createStorage()?.enterWith?.({ run, notes: [{ id, key }, ...notes.slice(0, MOST_NOTES - 1)] });
}

/** Returns the ids of the present code's acquisitions in the group with this key, the latest first. */
export function recentIdsIn(key: unknown): number[] {
  return presentContext().notes.filter((note) => note.key === key).map(({ id }) => id);
}

/** The innermost `run` around the present code. */
export function currentRun(): RunScope | undefined {
  return presentContext().run;
}

/** Calls `fn` as the function of a `run`. Without AsyncLocalStorage (browsers, Node before 20.16) it just calls it. */
export function callInRun<T>(originId: number | undefined, fn: () => T, holds: ReadonlyMap<unknown, unknown>): T {
  const { run, notes } = presentContext();
  const inner = { originId, parent: heldRun(run, holds) };
  const storage = createStorage();
  return storage === undefined ? fn() : storage.run({ run: inner, notes }, fn);
}

/**
 * Returns the innermost `run` whose hold lasts. Skipping ended holds bounds the chain for work that outlives its `run`.
 */
function heldRun(run: RunScope | undefined, holds: ReadonlyMap<unknown, unknown>): RunScope | undefined {
  while (run !== undefined && !holds.has(run.originId)) run = run.parent;
  if (run !== undefined) run.parent = heldRun(run.parent, holds);
  return run;
}
