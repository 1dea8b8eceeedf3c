/**
 * One hold: held, perhaps lent to a Condition meanwhile, then spent, once. Each grant creates one.
 *
 * @module
 */
import { callIn } from "./call_in.ts";
import { checkFunction, checkOwn, isThenable } from "./check.ts";
import { ASYNC_DISPOSE, DISPOSE } from "./dispose.ts";
import { hook, step } from "./hook.ts";
import { printAs } from "./show.ts";
import { exposeState, stateOf } from "./state.ts";
import type { WaitedFor } from "./waited_for.ts";
import type { Guard } from "../types.ts";

/**
 * A primitive that hands out holds, or a side or key of one. While a hold is lent to a wait, that wait is its owner: it
 * has `isHeld: false`, which makes `held` of the guard false.
 */
export interface Owner extends WaitedFor {
  /** Called once for each hold, when it ends; for a lent hold, when it is released instead of going back. */
  onRelease(permits: number): void;
}

/** The guard of every local primitive. Its fields are private, so freezing it has no effect. */
export class Hold implements Guard {
  #owner: Owner | undefined;
  readonly #permits: number;

  static {
    exposeState(Hold, (hold): SetOwner => (owner) => hold.#owner = owner);
    printAs(Hold, "Guard", ["held"]);
  }

  constructor(owner: Owner, permits = 1) {
    this.#owner = owner;
    this.#permits = permits;
  }

  get held(): boolean {
    return this.#owner !== undefined && this.#owner.isHeld !== false;
  }

  release(): void {
    checkOwn(this, Hold);
    const owner = this.#owner;
    if (owner === undefined) return;
    this.#owner = undefined;
    if (hook === undefined) owner.onRelease(this.#permits);
    else releaseAndReport(this, owner, this.#permits);
  }

  [DISPOSE](): void {
    this.release();
  }

  async [ASYNC_DISPOSE](): Promise<void> {
    await this.release();
  }
}

type SetOwner = (owner: Owner | undefined) => void;

/** Sets the owner of a hold, or the wait to which it is lent; undefined for a spent hold. */
export function setOwner(hold: Hold, owner: Owner | undefined): void {
  stateOf<SetOwner>(hold)(owner);
}

/** A function of its own: a closure would slow down every call. */
function releaseAndReport(hold: Hold, owner: Owner, permits: number): void {
  step(() => {
    hook?.release(owner, hold);
    owner.onRelease(permits);
  });
}

/** A primitive that `runHolding` can acquire. */
interface Holdable<G, O> {
  acquire(options?: O): Promise<G>;
  tryAcquire(): G | undefined;
}

const NEXT_TURN: Promise<undefined> = /* @__PURE__ */ Promise.resolve(undefined);

/**
 * Calls `fn` while holding, and releases when it has ended, even with an error. An error of `fn` takes precedence over
 * an error of the release.
 */
export function runHolding<G extends Guard, O, T>(
  primitive: Holdable<G, O>,
  fn: (guard: G) => T | PromiseLike<T>,
  options: O | undefined,
): Promise<T> {
  try {
    checkFunction(fn);
    const guard = options === undefined ? primitive.tryAcquire() : undefined;
    // `fn` is never called synchronously. Awaiting a guard is slower than awaiting undefined.
    return callHolding(fn, guard === undefined ? primitive.acquire(options) : NEXT_TURN, guard);
  } catch (error) {
    return Promise.reject(error);
  }
}

/**
 * The only asynchronous part. It is small because a queued call keeps memory for each of its variables.
 *
 * @param taken The guard of a primitive that was free.
 */
async function callHolding<G extends Guard, T>(
  fn: (guard: G) => T | PromiseLike<T>,
  granted: Promise<G | undefined>,
  taken?: G,
): Promise<T> {
  const guard = await granted ?? taken!;
  let result: T | PromiseLike<T>;
  try {
    result = callIn(guard, fn, guard);
    // Awaited, not just returned, so that an error's stack shows the caller.
    if (isThenable(result)) result = await result;
  } catch (error) {
    try {
      guard.release();
    } catch { /* the error of `fn` came first */ }
    throw error;
  }
  guard.release();
  return result;
}
