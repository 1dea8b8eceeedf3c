/**
 * One wait of a Condition: for a notification, then for the lock. Invariant: from the start of the wait until the lock is
 * back, the hold is lent to this waiter, so releasing the guard ends the wait.
 *
 * @module
 */
import type { Hold, HoldBorrower } from "./hold.ts";
import { type Mutex, takeFree } from "./mutex.ts";
import { type WaitQueue, wakeFirst } from "./wait_queue.ts";
import { isWaiting, reportGiveUp, type Resolve, setResolve, setTarget, type WaitedFor, Waiter } from "./waiter.ts";
import { NotHeldError } from "../errors.ts";

export class ConditionWaiter extends Waiter<void> implements HoldBorrower {
  readonly lender: Mutex;
  readonly #self: WaitedFor;
  readonly #queue: WaitQueue<void>;
  readonly #hold: Hold;
  readonly #resolve: Resolve<void>;
  readonly #reject: (reason: unknown) => void;
  /** Whether a notification has reached it that another one could use. */
  #isNotified = false;
  /** Whether the guard was released meanwhile. */
  #isOver = false;
  /** Why the wait was cancelled, if it was. */
  #reason: unknown;

  /**
   * @param resolve Resolves the wait.
   * @param reject Rejects it.
   */
  constructor(
    condition: WaitedFor,
    queue: WaitQueue<void>,
    lender: Mutex,
    hold: Hold,
    resolve: Resolve<void>,
    reject: (reason: unknown) => void,
  ) {
    super(condition);
    this.#self = condition;
    this.#queue = queue;
    this.lender = lender;
    this.#hold = hold;
    this.#resolve = resolve;
    this.#reject = reject;
    setTarget(hold, this);
  }

  /** Moves over to the lock's queue; the wait is resolved once the lock is back. */
  onNotified(): void {
    if (this.#isOver) return this.#passOn();
    this.#isNotified = true;
    this.#repark(this.#resolve);
  }

  /** The same, to reject. It has left the condition's queue. */
  onCancelled(reason: unknown): void {
    if (this.#isOver) return;
    this.#reason = reason;
    this.#repark(() => this.#reject(reason));
  }

  /** The guard was released: the lock is not taken back. */
  onRelease(hold: Hold): void {
    if (this.#isOver) return;
    this.#isOver = true;
    setTarget(hold, this); // for the report
    // In neither queue for the moment in which it is taken from one: a settlement then finds it over.
    if (!this.#queue.remove(this) && !this.lender.queue.remove(hold) && isWaiting(hold)) {
      setResolve(hold, undefined);
      reportGiveUp(hold, "error");
    }
    setTarget(hold, undefined);
    if (this.#isNotified) this.#passOn();
    this.#reject(releasedMeanwhile(this.#self, this.#reason));
  }

  /** A notification for a wait that has ended belongs to the next one. */
  #passOn(): void {
    wakeFirst(this.#queue, 1, undefined);
  }

  /** Takes the hold back by way of the lock's queue. Nothing cancels this wait. */
  #repark(onBack: () => void): void {
    const { lender } = this;
    const hold = this.#hold;
    const { end } = lender.queue;
    if (end !== undefined) { // the lock was cancelled: the wait ends with its reason, not holding
      setTarget(hold, undefined);
      return this.#reject(end.reason);
    }
    const back = (granted: Hold | PromiseLike<Hold>) => {
      setTarget(hold, granted === hold ? lender : undefined); // or else the lock was cancelled
      if (granted === hold) onBack();
      else this.#resolve(granted as PromiseLike<never>);
    };
    if (lender.holder !== undefined) return lender.queue.join(hold, back, unreachable);
    setTarget(hold, lender); // before an observer hears of it, who may release it
    takeFree(lender, hold);
    onBack();
  }
}

/** The error of a wait whose guard was released: it ends without the lock, also if it had been cancelled before. */
export function releasedMeanwhile({ operation }: WaitedFor, cause?: unknown): NotHeldError {
  const message = `Cannot ${operation}: its guard was released meanwhile`;
  return cause === undefined ? new NotHeldError(message) : new NotHeldError(message, { cause });
}

function unreachable(): void {}
