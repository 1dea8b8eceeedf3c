/**
 * A lock and a queue of waiters. A waiter lends its hold to the condition until it is notified and has the lock again.
 *
 * @module
 */
import {
  checkFunction,
  checkInstance,
  checkInteger,
  checkOwn,
  isThenable,
  must,
  promiseTry,
  readName,
  readWaitOptions,
  throwIfAborted,
} from "./internal/check.ts";
import { keepRequest } from "./internal/cancellation.ts";
import { type Hold, type Owner, runHolding, setOwner } from "./internal/hold.ts";
import { hook, step } from "./internal/hook.ts";
import type { Mutex } from "./internal/mutex.ts";
import { timersEndWithRequest } from "./internal/platform.ts";
import { printAs } from "./internal/show.ts";
import { exposeState, stateOf } from "./internal/state.ts";
import {
  closeQueues,
  Rejection,
  remove,
  type Resolve,
  WaitCancellation,
  Waiter,
  WaitQueue,
  wake,
} from "./internal/wait_queue.ts";
import { cannot, describe, UNOBSERVED, type WaitedFor, waitTimeoutError } from "./internal/waited_for.ts";
import { wrapFunction } from "./internal/wrap.ts";
import { ClosedError, NotHeldError } from "./errors.ts";
import { Lock } from "./lock.ts";
import type { Acquirable, Guard, NameOptions, WaitOptions } from "./types.ts";

/**
 * Waits, while holding a lock, for a change that another holder of the lock makes.
 *
 * For a mere signal without state to check, use {@linkcode Event}.
 *
 * `wait` releases the hold and takes it back under the *same* guard before it settles; meanwhile `guard.held` is false.
 * Releasing or disposing of a guard during its `wait` ends that wait: it rejects with {@linkcode NotHeldError} without
 * taking the lock back, and passes a notification it has received to the next waiter. So leaving the scope of a guard
 * never leaves the lock held.
 *
 * Not meant to be extended: guards, `run` and `acquireAll` may bypass overridden methods. Wrap it in a class of your
 * own.
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
  readonly #target: WaitedFor;
  readonly #queue = new WaitQueue<void>();

  static {
    exposeState(Condition, (condition) => condition.#queue);
    printAs(Condition, "Condition", ["name", "locked", "waiting", "closed"]);
  }

  /**
   * Creates a condition on a lock, whose holders wait for changes of the protected state.
   *
   * @param lock The lock that protects the state. Several conditions may share one. Default: a new lock with the same
   * name.
   * @param options A name for error messages and diagnostics.
   * @throws {TypeError} when `lock` is not a {@linkcode Lock}, or the name is not a string.
   */
  constructor(lock?: Lock, options?: NameOptions) {
    const isOptions = lock?.constructor === Object && "name" in lock;
    must(!isOptions, "lock", "be a Lock", lock, TypeError, ": write new Condition(undefined, { name })");
    if (lock !== undefined) checkInstance(lock instanceof Lock, lock, "lock", "Lock");
    const name = readName(options);
    this.#target = describe("condition", "wait for condition", name);
    this.#lock = lock ?? new Lock({ name });
    this.#mutex = stateOf<{ readonly owner: Mutex }>(this.#lock).owner;
  }

  /** The name shown in error messages and diagnostics. */
  get name(): string | undefined {
    return this.#target.name;
  }

  /** Whether the lock is held. */
  get locked(): boolean {
    return this.#lock.locked;
  }

  /** Whether `cancel()` has closed the condition. */
  get closed(): boolean {
    return this.#queue.closed;
  }

  /** The number of waits for a notification. Waits for the lock are counted by `lock.waiting`. */
  get waiting(): number {
    return this.#queue.size;
  }

  /**
   * Acquires the lock, as the lock itself does.
   *
   * **Fairness** and **Cancellation** as in {@linkcode Lock.acquire}.
   *
   * @param options When to stop waiting; `timeout` in milliseconds.
   * @throws The errors of {@linkcode Lock.acquire}.
   */
  acquire(options?: WaitOptions): Promise<Guard> {
    return this.#lock.acquire(options);
  }

  /** Returns the guard if the lock is free, else undefined. */
  tryAcquire(): Guard | undefined {
    return this.#lock.tryAcquire();
  }

  /**
   * Calls `fn` while holding the lock, and releases it when `fn` has ended, even with an error.
   *
   * **Fairness** and **Cancellation** as in {@linkcode Lock.acquire}.
   *
   * @param fn Called with the guard.
   * @param options As for {@linkcode Lock.acquire}; they bound the wait, not `fn`.
   * @throws {TypeError} when `fn` is not a function.
   * @throws The errors of {@linkcode Lock.acquire} and of `fn`.
   */
  run<T>(fn: (guard: Guard) => T | PromiseLike<T>, options?: WaitOptions): Promise<T> {
    return runHolding(this, fn, options);
  }

  /**
   * Wraps `fn`, keeping its parameters, `this` and result: each call goes through {@linkcode Condition.run}. `fn` gets
   * only the arguments of the call.
   *
   * @param fn The function to wrap.
   * @throws {TypeError} when `fn` is not a function, or is a generator function.
   */
  wrap<T, A extends unknown[], R>(fn: (this: T, ...args: A) => R): (this: T, ...args: A) => Promise<Awaited<R>> {
    return wrapFunction(fn, (call) => this.run(call));
  }

  /**
   * Releases the lock, as the lock itself does.
   *
   * @throws {NotHeldError} when the lock is not held.
   */
  release(): void {
    checkOwn(this, Condition);
    this.#lock.release();
  }

  /**
   * Releases the lock, waits for a notification, and takes the lock back before it resolves or rejects. Wake-ups are
   * never spurious, but another holder may have changed the state in between: check it again, or use
   * {@linkcode Condition.waitFor}.
   *
   * **Fairness**: notifications go to waiters in the order of their arrival. Taking the lock back means joining the end
   * of the lock's queue, even if `maxWaiting` calls wait there.
   *
   * **Cancellation**: an abort or time-out ends the wait for the notification, not the wait for the lock, which nothing
   * bounds. With an aborted signal or `timeout: 0` it rejects without releasing the lock. An abort after the
   * notification has no effect.
   *
   * @param options When to stop waiting; `timeout` in milliseconds.
   * @throws {NotHeldError} when the lock is not held, or its guard was released meanwhile.
   * @throws {ClosedError} when `cancel()` has closed the condition or its lock.
   * @throws {TimeoutError} when the timeout has passed.
   * @throws {signal.reason} when the signal aborts.
   * @throws {TypeError} when an option has a wrong type.
   * @throws {RangeError} when `timeout` is NaN or negative.
   */
  wait(options?: WaitOptions): Promise<void> {
    return promiseTry(() => {
      const limits = readWaitOptions(options);
      this.#checkOpen();
      // One for all rounds: it lends nothing before begin(), but notes a cancellation from now on
      const wait = new LentWait(this.#target, this.#queue, this.#mutex, this.#presentHold(this.#target));
      throwIfAborted(limits);
      if (limits?.timeout === 0) throw waitTimeoutError(this.#target, 0);
      if (limits !== undefined) wait.cancellation = new WaitCancellation(limits, wait, this.#queue);
      return wait.begin();
    });
  }

  /**
   * Waits until `predicate` returns a truthy value, and resolves to that value. `predicate` is called at once and after
   * every notification, always while the lock is held.
   *
   * **Fairness** and **Cancellation** as in {@linkcode Condition.wait}; `timeout` bounds the whole call.
   *
   * @param predicate Returns whether the wait is over. A promise that it returns is awaited while the lock is held.
   * @param options When to stop waiting; `timeout` in milliseconds.
   * @throws {NotHeldError} when the lock is not held, or its guard was released meanwhile.
   * @throws {ClosedError} when `cancel()` has closed the condition or its lock.
   * @throws {TimeoutError} when the timeout has passed.
   * @throws {signal.reason} when the signal aborts.
   * @throws {TypeError} when `predicate` is not a function, or an option has a wrong type.
   * @throws {RangeError} when `timeout` is NaN or negative.
   */
  async waitFor<T>(predicate: () => T | PromiseLike<T>, options?: WaitOptions): Promise<T> {
    checkFunction(predicate, "predicate");
    const limits = readWaitOptions(options);
    this.#checkOpen();
    const hold = this.#presentHold(this.#target);
    throwIfAborted(limits);
    // One for all rounds: it lends nothing before begin(), but notes a cancellation from now on
    const wait = new LentWait(this.#target, this.#queue, this.#mutex, hold);
    if (limits !== undefined) wait.cancellation = new CallCancellation(limits, wait, this.#queue);
    try {
      for (;;) {
        this.#checkHolder(hold);
        const result = predicate();
        const value = isThenable(result) ? await result : result;
        this.#checkHolder(hold);
        if (value) return value;
        this.#checkOpen(); // it may have been cancelled meanwhile
        throwIfAborted(limits);
        if (wait.cancelled instanceof Rejection) throw wait.cancelled.reason;
        if (limits?.timeout === 0) throw waitTimeoutError(this.#target, 0);
        await wait.begin();
      }
    } finally {
      wait.cancellation?.end();
    }
  }

  /**
   * Notifies the first `n` waiters, which resume as soon as they get the lock. Has no effect without waiters. A
   * notification is never spent on a cancelled waiter.
   *
   * @param n The maximum number of waiters to notify.
   * @throws {NotHeldError} when the lock is not held.
   * @throws {TypeError} when `n` is not a number.
   * @throws {RangeError} when `n` is not a whole number of 0 or more.
   */
  notify(n: number = 1): void {
    checkInteger(n, "n", 0);
    this.#presentHold({ ...this.#target, action: "notify condition" });
    wake(this.#queue, undefined, n);
  }

  /**
   * Notifies all present waiters.
   *
   * @throws {NotHeldError} when the lock is not held.
   */
  notifyAll(): void {
    this.notify(this.#queue.size);
  }

  /**
   * Closes the condition for good: all waits for a notification end in order and in one step; each takes the lock back,
   * as after an abort, and rejects with `reason`. Later waits reject with a {@linkcode ClosedError}. The lock is not
   * closed: {@linkcode Lock.cancel} does that. Cancelling again has no effect.
   *
   * @param reason Default: an AbortError.
   */
  cancel(reason?: unknown): void {
    closeQueues([this.#queue], reason);
  }

  /** Throws if the condition or its lock is closed: a wait could not take a closed lock back. */
  #checkOpen(): void {
    this.#queue.checkOpen(this.#target);
    if (this.#mutex.queue.closed) throw new ClosedError(`${cannot(this.#target)}: lock is closed`);
  }

  /** Returns the present hold of the lock. Throws if there is none, with the operation that `target` names. */
  #presentHold(target: WaitedFor): Hold {
    const hold = this.#mutex.holder;
    if (!hold?.held) throw new NotHeldError(`${cannot(target)}: lock is not held`);
    return hold;
  }

  /** Throws if the lock is held by another guard by now, or is lent to another wait: the caller cannot lend it. */
  #checkHolder(hold: Hold): void {
    if (this.#mutex.holder !== hold || !hold.held) throw releasedMeanwhile(this.#target);
  }
}

/**
 * One call that waits for a notification, then for the lock. Invariant: from `begin` until the lock is back, the hold
 * is lent to this wait, so releasing the guard ends it.
 */
class LentWait extends Waiter<void> implements Owner {
  readonly kind = UNOBSERVED; // observers see the wait for the condition
  readonly name = undefined;
  readonly isHeld = false;
  readonly #queue: WaitQueue<void>;
  readonly #mutex: Mutex;
  readonly #hold: Hold;
  /** Settles the call. */
  #settle!: Resolve<void>;
  /** What the promise is settled with once the lock is back: nothing after a notification, else a rejection. */
  #settledWith: Rejection | void = undefined;
  /** The waiter in the lock's queue, once this one has left the condition's queue. */
  #relockWaiter: Waiter<Hold> | undefined;

  /** Set if the call was cancelled while it did not wait for a notification: no promise waits to be rejected then. */
  cancelled: Rejection | void = undefined;

  readonly #noteCancellation: Resolve<void> = (cancelled) => this.cancelled = cancelled;

  constructor(condition: WaitedFor, queue: WaitQueue<void>, mutex: Mutex, hold: Hold) {
    super(condition);
    this.resolve = this.#noteCancellation;
    this.#queue = queue;
    this.#mutex = mutex;
    this.#hold = hold;
  }

  /** Releases the lock; the promise settles once the lock is taken back. */
  begin(): Promise<void> {
    const settled = new Promise<void>((resolve) => {
      this.#settle = resolve;
    });
    this.#relockWaiter = undefined;
    step(() => {
      // Join before handing off the lock, so that a notification by the next holder is not missed.
      this.#queue.join(this, (outcome) => this.#takeBack(outcome));
      setOwner(this.#hold, this);
      hook?.release(this.#mutex, this.#hold);
      this.#mutex.onRelease();
    });
    return timersEndWithRequest ? keepRequest(settled) : settled;
  }

  /** Joins the end of the lock's queue. This wait cannot be cancelled, and `maxWaiting` never refuses it. */
  #takeBack(outcome: Rejection | void): void {
    this.resolve = this.#noteCancellation;
    const { closedWith } = this.#mutex.queue;
    if (closedWith !== undefined) return this.#end(new Rejection(closedWith.reason)); // the lock was cancelled
    this.#settledWith = outcome;
    if (this.#mutex.holder === undefined) {
      this.#onLockBack();
      this.#mutex.take(this.#hold);
      return;
    }
    const relockWaiter = this.#relockWaiter = new Waiter<Hold>(this.#mutex);
    hook?.begin(relockWaiter, this.#hold);
    this.#mutex.queue.join(relockWaiter, (granted) => {
      if (granted instanceof Rejection) this.#end(granted); // the lock was cancelled
      else this.#onLockBack();
    });
  }

  /** Takes the lock back under the same hold. */
  #onLockBack(): void {
    this.#mutex.holder = this.#hold;
    setOwner(this.#hold, this.#mutex);
    this.#settle(this.#settledWith);
  }

  /** Ends the wait without the lock. */
  #end(outcome: Rejection): void {
    setOwner(this.#hold, undefined);
    this.#settle(outcome);
  }

  /** Ends the wait after its guard was released, and passes a received notification to the next waiter. */
  onRelease(): void {
    const relockWaiter = this.#relockWaiter;
    const isNotified = relockWaiter !== undefined && this.#settledWith === undefined;
    if (relockWaiter !== undefined) remove(this.#mutex.queue, relockWaiter);
    else remove(this.#queue, this);
    if (isNotified) wake(this.#queue, undefined, 1);
    const cause = relockWaiter === undefined ? undefined : this.#settledWith?.reason;
    this.#end(new Rejection(releasedMeanwhile(this.target, cause)));
  }
}

/** The cancellation of a `waitFor`, which may wait several times. */
class CallCancellation extends WaitCancellation {
  /** Goes on after the end of one wait. */
  override detach(): void {
    this.previous = undefined;
  }
}

/** The error of a wait whose guard was released: the wait ends without the lock, even if it was cancelled before. */
function releasedMeanwhile(condition: WaitedFor, cause?: unknown): NotHeldError {
  const options = cause === undefined ? undefined : { cause };
  return new NotHeldError(`${cannot(condition)}: its guard was released meanwhile`, options);
}
