/**
 * One hold of one thing: held (maybe lent to a Condition in between), then spent, once. It is an object of its own, made at
 * the grant.
 *
 * @module
 */
import { callIn } from "./call_in.ts";
import { checkFunction, isThenable } from "./check.ts";
import { ASYNC_DISPOSE, DISPOSE } from "./dispose.ts";
import { hook, type Resource, step, tell } from "./hook.ts";
import { show } from "./show.ts";
import type { WaitedFor } from "./wait_queue.ts";
import type { Guard } from "../types.ts";

/** A primitive, or a part of one, that hands out holds. */
export interface Owner extends WaitedFor, Resource {
  readonly kind: string;
  readonly isBorrower?: undefined;
  /** Called once for each hold, when it ends. */
  onRelease(permits: number): void;
}

/** A wait that a hold is lent to. Meanwhile the hold is not held. */
export interface Borrower {
  readonly isBorrower: true;
  /** Called when the hold is released instead of going back to its owner. */
  onRelease(): void;
}

/** The owner of a hold, or the wait that it is lent to; undefined for a spent one. */
export let setOwner: (hold: Hold, owner: Owner | Borrower | undefined) => void;

/** The guard that every local primitive hands out. Its fields are private to its holder, too: freezing it changes nothing. */
export class Hold implements Guard {
  #owner: Owner | Borrower | undefined;
  readonly #permits: number;

  static {
    setOwner = (hold, owner) => hold.#owner = owner;
    show(Hold, "Guard", ["held"]);
  }

  constructor(owner: Owner, permits = 1) {
    this.#owner = owner;
    this.#permits = permits;
  }

  get held(): boolean {
    return this.#owner !== undefined && this.#owner.isBorrower === undefined;
  }

  release(): void {
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

/** On its own, because a closure makes every call of its function slower. */
function releaseAndReport(hold: Hold, owner: Owner | Borrower, permits: number): void {
  step(() => {
    if (!owner.isBorrower) tell((to) => to.release(owner, hold));
    owner.onRelease(permits);
  });
}

/** Anything that `runHolding` can acquire. */
interface Source<G, O> {
  acquire(options?: O): Promise<G>;
  tryAcquire(): G | undefined;
}

const NEXT_TURN: Promise<undefined> = /* @__PURE__ */ Promise.resolve(undefined);

/** Calls `fn` while holding, and releases when it has ended, either way. An error of `fn` wins over one of the release. */
export function runHolding<G extends Guard, O, T>(
  source: Source<G, O>,
  fn: (guard: G) => T | PromiseLike<T>,
  options: O | undefined,
): Promise<T> {
  try {
    checkFunction(fn, "fn");
    const guard = options === undefined ? source.tryAcquire() : undefined;
    // `fn` is never called inside of the call of `run`. Awaiting a guard is slower than awaiting nothing.
    return guard === undefined ? callHolding(fn, source.acquire(options)) : callHolding(fn, NEXT_TURN, guard);
  } catch (error) {
    return Promise.reject(error);
  }
}

/** The only asynchronous part, small: a queued call keeps memory for each of its variables. */
async function callHolding<G extends Guard, T>(
  fn: (guard: G) => T | PromiseLike<T>,
  granted: Promise<G | undefined>,
  free?: G,
): Promise<T> {
  const guard = await granted ?? free!;
  let result: T | PromiseLike<T>;
  try {
    result = callIn(guard, fn, guard);
    // Awaited here and not just returned, so that the stack of an error shows the caller.
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
