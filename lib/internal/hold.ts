/**
 * One hold of one thing: waiting, held (maybe lent to a Condition in between), spent. It is spent once, and stays inert
 * afterwards. A hold is its own entry in the queue.
 *
 * @module
 */
import { callIn } from "./call_in.ts";
import { checkFunction, isThenable } from "./check.ts";
import { type Borrower, type WaitedFor, Waiter } from "./waiter.ts";
import type { Guard } from "../types.ts";

/** A primitive, or a part of one, that hands out holds. */
export interface Owner extends WaitedFor {
  readonly kind: string;
  /** Called once for each granted hold, when it ends. */
  onRelease(hold: Hold): void;
}

/** A wait that a hold is lent to. Meanwhile the hold is not held. */
export interface HoldBorrower extends Borrower {
  readonly lender: Owner;
  /** Called when the hold is released instead of going back to its lender. */
  onRelease(hold: Hold): void;
}

/**
 * The guard that every local primitive hands out. Only its owner sees it before it is granted. Its target is its owner, or
 * the wait that it is lent to; undefined once it is spent.
 */
export type Hold = Waiter<Hold>;
export const Hold: new (owner: Owner, permits?: number) => Hold = Waiter;

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
    releaseQuietly(guard);
    throw error;
  }
  guard.release();
  return result;
}

function releaseQuietly(guard: Guard): void {
  try {
    guard.release();
  } catch { /* the error of `fn` came first */ }
}
