/**
 * Tracks the `run` that a piece of code is part of, across its awaits, so that a wait inside of a hold is recognized.
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

interface Storage {
  getStore(): Frame | undefined;
  run<T>(frame: Frame, fn: () => T): T;
}

interface AsyncHooks {
  AsyncLocalStorage: new () => Storage;
}

let storage: Storage | undefined;

/** Made when first needed: it costs the run-time something from then on. */
function started(): Storage | undefined {
  const AsyncLocalStorage = builtin<AsyncHooks>("async_hooks")?.AsyncLocalStorage;
  return storage ??= AsyncLocalStorage && new AsyncLocalStorage();
}

/** The innermost `run` around the present code. */
export function currentFrame(): Frame | undefined {
  return storage?.getStore();
}

/** Calls `fn` as the function of a `run`. Without AsyncLocalStorage (browsers, Node before 20.16) it just calls it. */
export function runInFrame<T>(call: object, fn: () => T, isHeld: (call: object) => boolean): T {
  const known = started();
  return known === undefined ? fn() : known.run({ call, parent: heldFrame(known.getStore(), isHeld) }, fn);
}

/** The innermost frame whose hold lasts. Work that outlives the `run` that started it would make a chain without end. */
function heldFrame(frame: Frame | undefined, isHeld: (call: object) => boolean): Frame | undefined {
  while (frame !== undefined && !isHeld(frame.call)) frame = frame.parent;
  if (frame !== undefined) frame.parent = heldFrame(frame.parent, isHeld);
  return frame;
}
