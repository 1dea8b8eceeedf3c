/**
 * One hold of one thing: waiting, held (maybe lent to a Condition in between), spent. It is spent once, and stays inert
 * afterwards. A hold is its own entry in the queue.
 *
 * @module
 */
import { callIn } from "./call_in.ts";
import type { CancelRegistration } from "./cancellation.ts";
import { checkFunction, isThenable } from "./check.ts";
import { hook } from "./hook.ts";
import { show } from "./show.ts";
import type { Resolve, WaitedFor, Waiter } from "./waiter.ts";
import type { Guard } from "../types.ts";

/** A primitive, or a part of one, that hands out holds. */
export interface Owner extends WaitedFor {
  readonly kind: string;
  readonly lender?: undefined;
  /** Called once for each granted hold, when it ends. */
  onRelease(hold: Hold): void;
}

/** A wait that a hold is lent to. Meanwhile the hold is not held. */
export interface Borrower {
  readonly lender: Owner;
  /** Called when the hold is released instead of going back to its lender. */
  onRelease(hold: Hold): void;
}

/** The guard that every local primitive hands out. Only its owner sees it before it is granted. */
export class Hold implements Guard, Waiter<Hold> {
  resolve: Resolve<Hold> | undefined = undefined;
  registration: CancelRegistration | undefined = undefined;
  next: this | undefined = undefined;
  readonly permits: number;
  /** Undefined once it is spent. */
  #owner: Owner | Borrower | undefined;

  static readonly name = "Guard";

  // A spent one. When a collection finds no instance of a class, V8 throws away the code that was compiled for it.
  static readonly #first = new Hold(undefined as never);

  static {
    show(Hold, ["held"]);
  }

  constructor(owner: Owner, permits = 1) {
    this.#owner = owner;
    this.permits = permits;
  }

  get waitsFor(): Owner {
    const owner = this.#owner!;
    return owner.lender ?? owner;
  }

  get held(): boolean {
    return this.#owner !== undefined && this.#owner.lender === undefined;
  }

  /** Lends it, or gives it back to its lender. */
  moveTo(owner: Owner | Borrower): void {
    this.#owner = owner;
  }

  release(): void {
    const owner = this.#owner;
    if (owner === undefined) return;
    this.#owner = undefined;
    if (hook !== undefined && owner.lender === undefined) hook.release(owner, this);
    owner.onRelease(this);
  }

  [Symbol.dispose](): void {
    this.release();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }
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
