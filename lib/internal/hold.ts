/**
 * One hold of one thing: waiting, held (maybe lent to a Condition in between), spent. It is spent once, and what is
 * spent stays inert. A hold is its own place in line.
 *
 * @module
 */
import { checkFunction } from "./check.ts";
import type { Exit } from "./cancellation.ts";
import type { Waiter } from "./wait_queue.ts";
import type { Guard } from "../types.ts";

/** What hands out holds and takes them back. */
export interface Keeper {
  /** What those in line wait to do, as in "Cannot ⟨acquire lock⟩: timed out". */
  readonly act: string;
  /** Whether its holds are not held at the moment, but lent. */
  readonly lends?: boolean;
  /** Called once for each hold that was granted, when it ends. */
  takeBack(hold: Hold): void;
}

/**
 * Engines forget the shape of objects, and the code that was compiled for it, when a collection finds none of them. A lock
 * is often idle then, and would be half as quick for a while: so one hold, of nothing, is always there.
 */
let first: Hold | undefined;

/** Made with the first one, not when the module is loaded, so that a bundler may drop it. */
function keepOne(made: Hold): void {
  first = made;
  first = new Hold({ act: "", takeBack() {} });
}

/** The guard that every local primitive hands out. Nobody else sees it before it is granted. */
export class Hold implements Guard, Waiter<Hold> {
  resolve: ((hold: Hold | PromiseLike<Hold>) => void) | undefined = undefined;
  exit: Exit | undefined = undefined;
  next: this | undefined = undefined;
  readonly permits: number;
  /** Undefined once it is spent. */
  #keeper: Keeper | undefined;

  constructor(keeper: Keeper, permits = 1) {
    this.#keeper = keeper;
    this.permits = permits;
    if (first === undefined) keepOne(this);
  }

  get act(): string {
    return this.#keeper!.act;
  }

  get held(): boolean {
    return this.#keeper !== undefined && !this.#keeper.lends;
  }

  /** Passes it on to another keeper: to one that lends it, or back. */
  moveTo(keeper: Keeper): void {
    this.#keeper = keeper;
  }

  release(): void {
    const keeper = this.#keeper;
    if (keeper === undefined) return;
    this.#keeper = undefined;
    keeper.takeBack(this);
  }

  [Symbol.dispose](): void {
    this.release();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }
}

/** Calls `fn` while holding what `acquire` hands out, and gives it back however `fn` ends. */
export async function runHolding<G extends Guard, T>(
  acquire: () => Promise<G>,
  fn: (guard: G) => T | PromiseLike<T>,
): Promise<T> {
  checkFunction(fn, "fn");
  const guard = await acquire();
  try {
    // Awaited here and not just returned, so that the stack of an error shows the caller.
    return await fn(guard);
  } finally {
    guard.release();
  }
}
