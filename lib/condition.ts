/**
 * A lock, and a line of those who lent it to the others until something has changed.
 *
 * @module
 */
import { timedOut } from "./internal/cancellation.ts";
import {
  checkFunction,
  checkInteger,
  isThenable,
  must,
  named,
  promised,
  readName,
  readWaitOptions,
  throwIfAborted,
  type WaitLimits,
} from "./internal/check.ts";
import { type Mutex, takeFree } from "./internal/mutex.ts";
import { WaitQueue } from "./internal/wait_queue.ts";
import { describe, PlainWaiter, type WaitedFor } from "./internal/waiter.ts";
import { NotHeldError } from "./errors.ts";
import { type Borrower, type Hold, runHolding } from "./internal/hold.ts";
import { Lock, mutexOf } from "./lock.ts";
import { show } from "./internal/show.ts";
import type { Acquirable, Guard, NameOptions, WaitOptions } from "./types.ts";

/**
 * Waiting, while holding a lock, for something that others change while holding it.
 *
 * Not for a mere signal without state to check: that is {@linkcode Event}.
 *
 * `wait` gives up the hold and takes it back under the *same* guard before it settles; meanwhile `guard.held` is false.
 * A guard that is released or disposed while its `wait` waits is given up for good: the `wait` rejects with
 * {@linkcode NotHeldError} without taking the lock back, and a notification that had reached it goes on to the next.
 * So leaving the scope of a guard never leaves a lock behind that nobody can release.
 *
 * @example
 * ```ts
 * import { Condition } from "@interlock/interlock";
 *
 * const condition = new Condition();
 * const items: string[] = [];
 * const consumer = condition.run(async () => {
 *   await condition.waitFor(() => items.length > 0);
 *   return items.shift();
 * });
 * await condition.run(() => {
 *   items.push("first");
 *   condition.notify();
 * });
 * console.log(await consumer); // first
 * ```
 */
export class Condition implements Acquirable<Guard> {
  readonly #lock: Lock;
  readonly #mutex: Mutex;
  readonly #self: WaitedFor;
  readonly #queue = new WaitQueue<void>();

  static {
    show(Condition, ["name", "locked", "waiting"]);
  }

  /**
   * A condition on a lock; on one of its own if none is given.
   *
   * @param lock The lock that protects what is waited for. Several conditions may share one.
   * @param options Its name.
   * @throws {TypeError} when it is not a {@linkcode Lock}, or the name is not a string.
   */
  constructor(lock: Lock = new Lock(), options?: NameOptions) {
    must(lock instanceof Lock, "lock", "be a Lock", lock);
    this.#self = describe("condition", "wait for condition", readName(options));
    this.#lock = lock;
    this.#mutex = mutexOf(lock);
  }

  /** Its name, which error messages and diagnostics show. */
  get name(): string | undefined {
    return this.#self.name;
  }

  /** Whether somebody holds the lock. */
  get locked(): boolean {
    return this.#lock.locked;
  }

  /** How many wait for a notification. Those who wait for the lock are counted by `lock.waiting`. */
  get waiting(): number {
    return this.#queue.size;
  }

  /**
   * Acquires the lock, as the lock itself does.
   *
   * **Fairness** and **Cancellation** as in {@linkcode Lock.acquire}.
   *
   * @throws What the lock's `acquire` throws.
   */
  acquire(options?: WaitOptions): Promise<Guard> {
    return this.#lock.acquire(options);
  }

  /** The guard if the lock is free, else undefined. */
  tryAcquire(): Guard | undefined {
    return this.#lock.tryAcquire();
  }

  /**
   * Calls `fn` while holding the lock, and releases it however `fn` ends.
   *
   * **Fairness** and **Cancellation** as in {@linkcode Lock.acquire}.
   *
   * @throws {TypeError} when `fn` is not a function, and what the lock's `acquire` and `fn` throw.
   */
  run<T>(fn: (guard: Guard) => T | PromiseLike<T>, options?: WaitOptions): Promise<T> {
    return runHolding(this, fn, options);
  }

  /**
   * Releases the lock, as the lock itself does.
   *
   * @throws {NotHeldError} when nobody holds it.
   */
  release(): void {
    this.#lock.release();
  }

  /**
   * Gives up the lock, waits for a notification, and takes the lock back before it settles, whichever way it settles.
   * There are no spurious wake-ups, but somebody else may have held the lock in between: check again, or use
   * {@linkcode Condition.waitFor}.
   *
   * **Fairness**: notifications go to those who wait in the order in which they came; taking the lock back means going
   * to the end of the lock's line.
   *
   * **Cancellation**: an abort or time-out ends the waiting for the notification, not the taking back, which nothing
   * bounds. A signal that is already aborted and `timeout: 0` reject without giving up the lock. An abort after the
   * notification changes nothing.
   *
   * @param options When to give up; `timeout` in milliseconds.
   * @throws {NotHeldError} when nobody holds the lock, or its guard was released meanwhile.
   * @throws {TimeoutError} when the time is over.
   * @throws {TypeError} for options of a wrong type.
   * @throws {RangeError} for a `timeout` that is NaN or negative.
   */
  wait(options?: WaitOptions): Promise<void> {
    return promised(() => {
      const limits = readWaitOptions(options);
      return this.#wait(this.#hold(this.#self.operation), limits);
    });
  }

  /**
   * Waits until `predicate` returns something truthy, and returns that. It is asked at once and after every
   * notification, always while the lock is held.
   *
   * **Fairness** and **Cancellation** as in {@linkcode Condition.wait}; `timeout` bounds the whole call.
   *
   * @param predicate What to wait for. A promise that it returns is awaited, while the lock is held.
   * @param options When to give up; `timeout` in milliseconds.
   * @throws {NotHeldError} when nobody holds the lock, or its guard was released meanwhile.
   * @throws {TimeoutError} when the time is over.
   * @throws {TypeError} when `predicate` is not a function, and for options of a wrong type.
   * @throws {RangeError} for a `timeout` that is NaN or negative.
   */
  async waitFor<T>(predicate: () => T | PromiseLike<T>, options?: WaitOptions): Promise<T> {
    checkFunction(predicate, "predicate");
    const limits = readWaitOptions(options);
    const hold = this.#hold(this.#self.operation);
    throwIfAborted(limits);
    const whole = limits && { ...limits, deadline: performance.now() + limits.timeout };
    for (;;) {
      this.#checkHolder(hold);
      const asked = predicate();
      const value = isThenable(asked) ? await asked : asked;
      this.#checkHolder(hold);
      if (value) return value;
      await this.#wait(hold, whole);
    }
  }

  /**
   * Lets the first `n` of those who wait go on, as soon as they get the lock. Without effect where nobody waits. A
   * notification is never spent on a waiter that gave up.
   *
   * @param n How many.
   * @throws {NotHeldError} when nobody holds the lock.
   * @throws {TypeError} when `n` is not a number.
   * @throws {RangeError} when it is not a whole number from 0 up.
   */
  notify(n: number = 1): void {
    checkInteger(n, "n", 0);
    this.#hold(named("notify condition", this.name));
    while (n-- > 0 && this.#queue.wakeOne() !== undefined);
  }

  /**
   * Lets everybody go on who waits now.
   *
   * @throws {NotHeldError} when nobody holds the lock.
   */
  notifyAll(): void {
    this.#hold(named("notify condition", this.name));
    while (this.#queue.wakeOne() !== undefined);
  }

  #hold(operation: string): Hold {
    const hold = this.#mutex.holder;
    if (hold === undefined) throw new NotHeldError(`Cannot ${operation}: lock is not held`);
    return hold;
  }

  /** Another guard may hold by now, which is not the caller's to lend. */
  #checkHolder(hold: Hold): void {
    if (this.#mutex.holder !== hold) throw releasedMeanwhile(this.#self);
  }

  /** Waits for one notification. */
  #wait(hold: Hold, limits: WaitLimits | undefined): Promise<void> {
    throwIfAborted(limits);
    if (limits !== undefined && isOver(limits)) throw timedOut(this.#self.operation, limits.timeout);
    return new Promise((resolve, reject) => {
      const waiter = new ConditionWaiter(this.#self, this.#queue, this.#mutex, hold, reject);
      hold.moveTo(waiter);
      // Joins before the lock is handed off, so that a notification by the very next holder is not missed.
      this.#queue.join(waiter, () => waiter.onNotified(resolve), (reason) => waiter.onCancelled(reason), limits);
      this.#mutex.handOff();
    });
  }
}

function releasedMeanwhile({ operation }: WaitedFor): NotHeldError {
  return new NotHeldError(`Cannot ${operation}: its guard was released meanwhile`);
}

/** Whether no time is left to wait. */
function isOver({ timeout, deadline = Infinity }: WaitLimits): boolean {
  return timeout === 0 || deadline <= performance.now();
}

/** Moves a hold that was lent over to the lock's queue; calls `onBack` once it is held again. Nothing cancels this wait. */
function repark(mutex: Mutex, hold: Hold, onBack: () => void): void {
  const back = () => {
    hold.moveTo(mutex);
    onBack();
  };
  if (mutex.holder !== undefined) return mutex.queue.join(hold, back, unreachable);
  takeFree(mutex, hold);
  back();
}

function unreachable(): void {}

/** One wait: for a notification, then for the lock. The hold is lent to it until it is held again. */
class ConditionWaiter extends PlainWaiter<void> implements Borrower {
  readonly lender: Mutex;
  readonly #queue: WaitQueue<void>;
  readonly #hold: Hold;
  readonly #reject: (reason: unknown) => void;
  #isNotified = false;
  #isCancelled = false;
  #reason: unknown;

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
  }

  /** Moves over to the lock's queue. */
  onNotified(resolve: () => void): void {
    this.#isNotified = true;
    repark(this.lender, this.#hold, resolve);
  }

  /** The same, to reject once the lock is back. */
  onCancelled(reason: unknown): void {
    this.#isCancelled = true;
    this.#reason = reason;
    repark(this.lender, this.#hold, () => this.#reject(reason));
  }

  /** The guard was released: the lock is not taken back. */
  onRelease(hold: Hold): void {
    if (this.resolve !== undefined) this.#queue.remove(this);
    else this.lender.queue.remove(hold);
    // A notification for a wait that has ended belongs to the next one.
    if (this.#isNotified) this.#queue.wakeOne();
    this.#reject(this.#isCancelled ? this.#reason : releasedMeanwhile(this.waitsFor));
  }
}
