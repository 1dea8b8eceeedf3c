/**
 * One wait of a Condition: for a notification, then for the lock. Invariant: from the start of the wait until the lock is
 * back, the hold is lent to this waiter, so releasing the guard ends the wait.
 *
 * @module
 */
import type { Borrower, Hold } from "./hold.ts";
import { type Mutex, takeFree } from "./mutex.ts";
import type { WaitQueue } from "./wait_queue.ts";
import { PlainWaiter, type WaitedFor } from "./waiter.ts";
import { NotHeldError } from "../errors.ts";

export class ConditionWaiter extends PlainWaiter<void> implements Borrower {
  readonly lender: Mutex;
  readonly #queue: WaitQueue<void>;
  readonly #hold: Hold;
  readonly #reject: (reason: unknown) => void;
  #isNotified = false;
  /** Why the wait was cancelled, if it was. */
  #reason: unknown;

  /** @param reject Rejects the wait. */
  constructor(
    condition: WaitedFor,
    queue: WaitQueue<void>,
    lender: Mutex,
    hold: Hold,
    reject: (reason: unknown) => void,
  ) {
    super(condition);
    this.#queue = queue;
    this.lender = lender;
    this.#hold = hold;
    this.#reject = reject;
    hold.moveTo(this);
  }

  /** Moves over to the lock's queue; `resolve` is called once the lock is back. */
  onNotified(resolve: () => void): void {
    this.#isNotified = true;
    this.#repark(resolve);
  }

  /** The same, to reject. */
  onCancelled(reason: unknown): void {
    this.#reason = reason;
    this.#repark(() => this.#reject(reason));
  }

  /** The guard was released: the lock is not taken back. */
  onRelease(hold: Hold): void {
    if (this.resolve !== undefined) this.#queue.remove(this);
    else this.lender.queue.remove(hold);
    // A notification for a wait that has ended belongs to the next one.
    if (this.#isNotified) this.#queue.wakeOne();
    this.#reject(releasedMeanwhile(this.waitsFor, this.#reason));
  }

  /** Takes the hold back by way of the lock's queue. Nothing cancels this wait. */
  #repark(onBack: () => void): void {
    const { lender } = this;
    const hold = this.#hold;
    const back = () => {
      hold.moveTo(lender);
      onBack();
    };
    if (lender.holder !== undefined) return lender.queue.join(hold, back, unreachable);
    takeFree(lender, hold);
    back();
  }
}

/** The error of a wait whose guard was released: it ends without the lock, also if it had been cancelled before. */
export function releasedMeanwhile({ operation }: WaitedFor, cause?: unknown): NotHeldError {
  const message = `Cannot ${operation}: its guard was released meanwhile`;
  return cause === undefined ? new NotHeldError(message) : new NotHeldError(message, { cause });
}

function unreachable(): void {}
