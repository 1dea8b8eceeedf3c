/**
 * One hold of one thing: waiting, held (maybe lent to a Condition in between), spent. It is spent once, and what is
 * spent stays inert. A hold is its own place in line.
 *
 * @module
 */
import { checkFunction, promised } from "./_check.ts";
import type { Exit } from "./_exit.ts";
import type { Waiter } from "./_wait_queue.ts";
import type { Guard } from "./types.ts";

/** What hands out holds and takes them back. */
export interface Keeper {
  /** What those in line wait to do, as in "Cannot ⟨acquire lock⟩: timed out". */
  readonly act: string;
  /** Called once for each hold that began, when it ends. */
  takeBack(hold: Hold): void;
}

/** The guard that every local primitive hands out. */
export class Hold implements Guard, Waiter<Hold> {
  resolve: ((hold: Hold) => void) | undefined = undefined;
  exit: Exit | undefined = undefined;
  readonly permits: number;
  readonly #keeper: Keeper;
  #held = false;
  #onDropped: (() => void) | undefined = undefined;

  constructor(keeper: Keeper, permits = 1) {
    this.#keeper = keeper;
    this.permits = permits;
  }

  get act(): string {
    return this.#keeper.act;
  }

  get held(): boolean {
    return this.#held;
  }

  /** The hold is granted, or is back from having been lent. */
  begin(): this {
    this.#held = true;
    this.#onDropped = undefined;
    return this;
  }

  /** The hold is lent for a while; `onDropped` tells that its owner gave it up for good meanwhile. */
  lend(onDropped: () => void): void {
    this.#held = false;
    this.#onDropped = onDropped;
  }

  release(): void {
    if (this.#held) {
      this.#held = false;
      this.#keeper.takeBack(this);
    } else if (this.#onDropped !== undefined) {
      const dropped = this.#onDropped;
      this.#onDropped = undefined;
      dropped();
    }
  }

  [Symbol.dispose](): void {
    this.release();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return promised(() => Promise.resolve(this.release()));
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
