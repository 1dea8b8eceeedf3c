/**
 * The first-come, first-served queue of all local primitives. Each waiter links to the next. A cancellable waiter also
 * knows the one before it, so that it is unlinked in O(1) and leaves nothing behind.
 *
 * Each waiter is granted, rejected or cancelled, exactly once, in the synchronous step in which it leaves its queue.
 * Waiters that leave together have all left before the first is settled.
 *
 * Measured (Deno 2.9.6, ns a turn with 10 / 1,000 waiters): these plain fields 173 / 198; fields reached through
 * functions of another file 181 / 204; `reject` kept beside `resolve` 186 / 215; a ring 194 / 232.
 *
 * @module
 */
import { type CancelLimits, type CancelOutcome, CancelWatch, keepRequest, type QueueToServe } from "./cancellation.ts";
import { abortError, reasonOf } from "./check.ts";
import { type GiveUpOutcome, hook, needsOnlyPromise, step } from "./hook.ts";
import { timersEndWithRequest } from "./platform.ts";
import { cannot, closedError, operationOf, type WaitedFor, waitTimeoutError } from "./waited_for.ts";
import { QueueFullError } from "../errors.ts";

/** Settles the promise of a wait. */
export type Resolve<T> = (value: T | Rejection) => void;

/** A call that waits for a `T`. */
export class Waiter<T> {
  readonly target: WaitedFor;
  /** The number of permits it waits for; 1 for targets without permits. */
  readonly permits: number;
  /** Whether it is in a queue. */
  queued = false;
  next: Waiter<T> | undefined;
  /** Its cancellation, if it can be cancelled. */
  cancellation: WaitCancellation | undefined;
  /** Settles its promise. Set in the step in which it joins a queue. */
  resolve!: Resolve<T>;

  constructor(target: WaitedFor, permits = 1) {
    this.target = target;
    this.permits = permits;
  }
}

/** A queue of `W`, each of which waits for a `T`. */
export class WaitQueue<T, W extends Waiter<T> = Waiter<T>> {
  // There are `size` waiters from `head` by `next` to `tail`.
  head: W | undefined;
  protected tail: W | undefined;
  size = 0;
  /** Why it is closed for good; undefined while it is open. No waiter joins a closed queue. */
  closedWith: { readonly reason: unknown } | undefined;
  /** Served after waiters were cancelled: later waiters may fit now. */
  readonly owner: QueueToServe | undefined;
  private readonly maxSize: number;

  /** @param maxSize The maximum number of waiters. */
  constructor(owner?: QueueToServe, maxSize = Infinity) {
    this.owner = owner;
    this.maxSize = maxSize;
  }

  get closed(): boolean {
    return this.closedWith !== undefined;
  }

  /** Throws if closed. */
  checkOpen(target: WaitedFor): void {
    if (this.closed) throw closedError(target);
  }

  /**
   * Joins the end of the queue. Throws for a time-out of 0, if the queue is full, or if the waiter would wait for
   * itself.
   */
  wait(waiter: W, limits?: CancelLimits): Promise<T> {
    if (needsOnlyPromise && limits === undefined && this.size < this.maxSize) { // much quicker
      this.link(waiter);
      return createPromise(waiter);
    }
    const { target } = waiter;
    if (limits?.timeout === 0) throw waitTimeoutError(target, 0);
    if (this.size >= this.maxSize) throw queueFullError(waiter, this.size);
    const deadlock = hook?.deadlockErrorOf(target, waiter, operationOf(target));
    if (deadlock !== undefined) throw deadlock;
    const promise = createPromise<T>(waiter);
    this.join(waiter, waiter.resolve, limits);
    return timersEndWithRequest ? keepRequest(promise) : promise;
  }

  /** Joins the queue even if it is full. To reject the wait, `resolve` is called with a {@linkcode Rejection}. */
  join(waiter: W, resolve: Resolve<T>, limits?: CancelLimits): void {
    if (limits !== undefined) waiter.cancellation = new WaitCancellation(limits, waiter, this); // first: it may throw
    waiter.resolve = resolve;
    this.link(waiter);
    hook?.wait(waiter.target, waiter, waiter.permits);
  }

  protected link(waiter: W): void {
    const last = this.tail;
    if (last === undefined) this.head = waiter;
    else last.next = waiter;
    if (waiter.cancellation !== undefined) waiter.cancellation.previous = last;
    this.tail = waiter;
    waiter.queued = true;
    this.size++;
  }

  /** The first waiter whose signal is not aborted. It stays in the queue. */
  peek(): W | undefined {
    let first = this.head;
    for (; first?.cancellation?.isAborted; first = this.head) first.cancellation.abort();
    return first;
  }

  /** Removes the first waiter. The caller settles it in the same synchronous step. */
  take(): W | undefined {
    const first = this.peek();
    if (first !== undefined) this.unlink(first);
    return first;
  }

  /** Removes the first waiters, as `take` does. The caller settles them, in order, in the same synchronous step. */
  takeAll(most = Infinity): W[] {
    const taken: W[] = [];
    for (let first; taken.length < most && (first = this.take()) !== undefined;) taken.push(first);
    return taken;
  }

  /**
   * Removes a waiter of this queue; O(n) for one that cannot be cancelled and is not the first. The caller settles it.
   */
  unlink(waiter: W): void {
    const { next, cancellation } = waiter;
    let previous = (waiter === this.head ? undefined : cancellation?.previous ?? this.head) as W | undefined;
    while (previous !== undefined && previous.next !== waiter) previous = previous.next as W | undefined;
    if (previous === undefined) this.head = next as W | undefined;
    else previous.next = next;
    if (next === undefined) this.tail = previous;
    else if (next.cancellation !== undefined) next.cancellation.previous = previous;
    waiter.next = undefined; // one that has left keeps no other one alive
    waiter.queued = false;
    this.size--;
    cancellation?.detach();
  }
}

/** The waiters of a queue in order. */
export function waitersOf<T, W extends Waiter<T>>({ head }: WaitQueue<T, W>): W[] {
  const waiters: W[] = [];
  for (let waiter = head; waiter !== undefined; waiter = waiter.next as W | undefined) waiters.push(waiter);
  return waiters;
}

/** Creates the promise that the waiter settles. Engines inline an executor that takes no `reject` and calls nothing. */
function createPromise<T>(waiter: Waiter<T>): Promise<T> {
  return new Promise((resolve) => {
    waiter.resolve = resolve;
  });
}

/** The part of a queue that cancellations use. */
interface AnyQueue {
  readonly owner: QueueToServe | undefined;
  unlink(waiter: Waiter<never>): void;
}

/** The signal and the time-out of a waiter. */
export class WaitCancellation extends CancelWatch {
  /** The waiter before its own in the queue. Waiters without a cancellation leave only at the head. */
  previous: Waiter<never> | undefined;
  readonly #waiter: Waiter<never>;
  readonly #queue: AnyQueue;

  constructor(limits: CancelLimits, waiter: Waiter<never>, queue: AnyQueue) {
    super(limits);
    this.#waiter = waiter;
    this.#queue = queue;
  }

  /** Stops listening. Called after the waiter has left its queue. */
  detach(): void {
    this.previous = undefined;
    this.end();
  }

  override leave(): void {
    if (this.#waiter.queued) this.#queue.unlink(this.#waiter); // unlike a call between two waits
  }

  override settle(outcome: CancelOutcome): unknown {
    const reason = outcome === "timeout" ? waitTimeoutError(this.#waiter.target, this.timeout) : reasonOf(this.signal!);
    reject(this.#waiter, reason, outcome);
    return reason;
  }

  override get toServe(): QueueToServe | undefined {
    return this.#queue.owner;
  }
}

/** Resolves a dequeued waiter. */
export function grant<T>(waiter: Waiter<T>, value: T): void {
  waiter.resolve(value);
  if (hook !== undefined) reportGrant(waiter);
}

/** Removes a waiter from anywhere in the queue without settling it. Returns whether it was still in the queue. */
export function remove<T, W extends Waiter<T>>(queue: WaitQueue<T, W>, waiter: W): boolean {
  if (!waiter.queued) return false;
  queue.unlink(waiter);
  reportGiveUp(waiter, "error");
  return true;
}

/** Rejects a dequeued waiter. */
export function reject(waiter: Waiter<never>, error: unknown, outcome: GiveUpOutcome = "error"): void {
  waiter.resolve(new Rejection(error));
  reportGiveUp(waiter, outcome);
}

/**
 * Resolving a promise with this object rejects it in a later microtask. It is cheaper than a rejected promise: Deno
 * 2.9.6 keeps a list of these while they have no handler.
 */
export class Rejection implements PromiseLike<never> {
  readonly reason: unknown;

  constructor(reason: unknown) {
    this.reason = reason;
  }

  then(_: unknown, reject: (reason: unknown) => never): never {
    return reject(this.reason);
  }
}

/** Rejects dequeued waiters with the same error. */
export function rejectAll(waiters: readonly Waiter<never>[], error: unknown): void {
  step(() => {
    for (const waiter of waiters) reject(waiter, error);
  });
}

/** Grants the same value to the first waiters, at most `most`, in order. */
export function wake<T, W extends Waiter<T>>(queue: WaitQueue<T, W>, value: T, most = Infinity): void {
  const waiters = queue.takeAll(most);
  step(() => {
    for (const waiter of waiters) grant(waiter, value);
  });
}

/**
 * Closes queues for good and rejects all waiters with the reason. Cancelling again has no effect.
 *
 * @param reason Default: an AbortError.
 */
export function closeQueues<T, W extends Waiter<T>>(
  queues: readonly WaitQueue<T, W>[],
  reason: unknown = abortError(),
): void {
  step(() => {
    const open = queues.filter((queue) => !queue.closed);
    for (const queue of open) queue.closedWith = { reason };
    for (const waiter of open.flatMap((queue) => queue.takeAll())) reject(waiter, reason);
  });
}

/** The error of a call at a full queue. */
export function queueFullError(waiter: Waiter<never>, waiting: number): QueueFullError {
  reportGiveUp(waiter, "full");
  const few = ["0 calls are waiting already; maxWaiting is 0", "1 call is waiting already"];
  return new QueueFullError(`${cannot(waiter.target)}: ${few[waiting] ?? `${waiting} calls are waiting already`}`);
}

/** Reports the grant of a waiter, even if it did not have to wait. */
export function reportGrant(waiter: Waiter<never>): void {
  hook?.grant(waiter.target, waiter, waiter.permits);
}

/** Reports that a call has left its queue without a grant. */
export function reportGiveUp(waiter: Waiter<never>, outcome: GiveUpOutcome): void {
  hook?.giveUp(waiter.target, waiter, outcome, waiter.permits);
}
