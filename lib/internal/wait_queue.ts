/**
 * The queue that everything local waits in, first come, first served.
 *
 * Each waiter links to the next one; on Node 20, Node 26 and Deno 2.9 a ring was a little slower with up to a thousand
 * waiters, and faster with ten thousand. A cancelled waiter is marked in place, O(1), and passed over later; the marked
 * ones never outnumber the live ones by more than a constant, so memory is bounded by the live ones.
 *
 * Leaving the queue and settling is one synchronous step: a waiter is granted or cancelled, never both. Several that
 * leave together have all left, and the counts are right, before any of them is settled, reported or asks its signal:
 * code that runs there (an observer, a getter of a foreign signal, a thenable) may use the same queue.
 *
 * @module
 */
import {
  type Cancellable,
  type CancelLimits,
  type CancelOutcome,
  type CancelRegistration,
  onCancel,
} from "./cancellation.ts";
import { hook, isPlain } from "./hook.ts";
import { timersEndWithRequest } from "./platform.ts";
import {
  deadlockOf,
  grant,
  isUncancellable,
  isWaiting,
  link,
  nextOf,
  permitsOf,
  registrationOf,
  reject,
  reportGiveUp,
  reportWait,
  type Resolve,
  resolveOf,
  setRegistration,
  setResolve,
  unlink,
  type WaitedFor,
  type Waiter,
  waitsFor,
} from "./waiter.ts";
import { ClosedError, QueueFullError } from "../errors.ts";
import { timedOutError, WaiterRegistration } from "./waiter_registration.ts";

/** How many more entries may be marked than live. */
const SPARE = 32;
/** Milliseconds for which a timer keeps a waiting request on Workers. */
const KEPT_FOR = 1000;

/** The owner of a queue. */
export interface QueueOwner {
  /** Called once after waiters were cancelled: those behind them may fit now. */
  afterLeave(): void;
}

/** A queue of `W`, each of which waits for a `T`. */
export class WaitQueue<T, W extends Waiter<T> = Waiter<T>> implements Cancellable<WaiterRegistration<T>> {
  // From #head to #tail, which links to itself, there are #size live waiters and #gaps cancelled ones. #head undefined
  // implies both are 0.
  #head: W | undefined = undefined;
  #tail: W | undefined = undefined;
  #size = 0;
  #gaps = 0;
  /** How many of the live waiters want more than one permit. */
  #large = 0;
  readonly #owner: QueueOwner | undefined;
  /** The most that may wait. */
  readonly #most: number;
  /** Set once it is closed for good. #end !== undefined implies that nothing joins any more. */
  #end: { readonly reason: unknown } | undefined = undefined;
  // Methods are `private` by type only: those named with # would make each queue larger.

  /** @param most The most waiters; a Condition's way back to its lock is spared. */
  constructor(owner?: QueueOwner, most = Infinity) {
    this.#owner = owner;
    this.#most = most;
  }

  /** The number of waiters. */
  get size(): number {
    return this.#size;
  }

  /** The number of waiters that want more than one permit. */
  get large(): number {
    return this.#large;
  }

  /** Why it is closed for good; undefined while it is open. */
  get end(): { readonly reason: unknown } | undefined {
    return this.#end;
  }

  get closed(): boolean {
    return this.#end !== undefined;
  }

  /** Throws if it is closed. */
  checkOpen(target: WaitedFor): void {
    if (this.#end === undefined) return;
    const { operation, noun, kind } = target; // not before: these are made when they are asked for
    throw new ClosedError(`Cannot ${operation}: ${noun ?? kind!.replaceAll("-", " ")} is closed`);
  }

  /** Closes it; returns false if it was closed before. To empty it is left to {@linkcode cancelQueues}. */
  close(reason: unknown): boolean {
    if (this.#end !== undefined) return false;
    this.#end = { reason };
    return true;
  }

  /** The waiters in order, by a walk along the queue. */
  waiters(): W[] {
    const waiters: W[] = [];
    for (let waiter = this.#head; waiter !== undefined; waiter = behind(waiter)) {
      if (isWaiting(waiter)) waiters.push(waiter);
    }
    return waiters;
  }

  /** Joins the end of the queue, unless as many as may wait are waiting already, or it would wait for itself. */
  wait(waiter: W, limits?: CancelLimits): Promise<T> {
    if (limits?.timeout === 0) return Promise.reject(timedOutError(waiter, 0));
    if (this.#size >= this.#most) return refuse(waiter, this.#size);
    if (limits !== undefined || !isPlain) {
      const deadlock = hook && deadlockOf(waiter);
      if (deadlock !== undefined) return Promise.reject(deadlock);
      return new Promise((resolve, reject) => this.join(waiter, resolve, reject, limits));
    }
    // The function given to the promise calls nothing: engines need not make a `reject` for it, and inline it.
    let resolve!: Resolve<T>;
    const granted = new Promise<T>((settle) => resolve = settle);
    this.link(waiter, resolve);
    return granted;
  }

  /** Joins it in any case: for waits that are never refused, or that are for no hold. */
  join(waiter: W, resolve: Resolve<T>, reject: (reason: unknown) => void, limits?: CancelLimits): void {
    this.link(waiter, resolve);
    if (timersEndWithRequest) keepRequest(() => isWaiting(waiter));
    if (limits !== undefined) {
      const registration = new WaiterRegistration(this, waiter, reject, limits.timeout ?? Infinity);
      setRegistration(waiter, registration);
      try {
        registration.begin(limits);
      } catch (error) {
        if (registrationOf(waiter) === registration) {
          this.drop(waiter);
          reject(error);
          this.afterLeave();
        }
      }
      // A foreign signal's `addEventListener` may have released what the waiter waits for.
      if (registrationOf(waiter) !== registration) registration.end();
    }
    if (hook !== undefined && isWaiting(waiter)) reportWait(waiter);
  }

  /** The first waiter. It stays in the queue. A foreign signal that is asked here may use the queue. */
  peek(): W | undefined {
    for (let first = this.#head; first !== undefined; first = this.#head) {
      if (isUncancellable(first)) return first;
      const registration = registrationOf(first);
      if (registration === undefined) {
        this.unlink(first);
        this.#gaps--;
      } else {
        registration.cancelIfAborted();
        if (registrationOf(first) === registration && this.#head === first) return first;
      }
    }
    return undefined;
  }

  /** Removes the first waiter. The caller settles it in the same synchronous step. */
  take(): W | undefined {
    const first = this.peek();
    if (first !== undefined) this.shift(first);
    return first;
  }

  /** The same for the waiter that {@linkcode peek} has just returned. */
  shift(first: W): void {
    this.unlink(first);
    this.discount(first);
    endRegistration(first);
  }

  /** Cancels the waiters whose signals are aborted and have not notified their listeners yet. */
  cancelAborted(): void {
    const registrations: CancelRegistration[] = [];
    for (let waiter = this.#head; waiter !== undefined; waiter = behind(waiter)) {
      const registration = registrationOf(waiter);
      if (registration?.hasSignal) registrations.push(registration);
    }
    for (const registration of registrations) registration.cancelIfAborted(); // each may change the queue
  }

  /** Removes all present waiters. The caller settles them, in order, in the same synchronous step. */
  takeAll(): W[] {
    const waiters = this.waiters();
    this.#head = this.#tail = undefined;
    this.#size = this.#gaps = this.#large = 0;
    for (const waiter of waiters) unlink(waiter);
    for (const waiter of waiters) endRegistration(waiter); // leaving a foreign signal runs its code
    return waiters;
  }

  /** Removes a waiter anywhere in the queue without settling it. Returns whether it was still there. */
  remove(waiter: W): boolean {
    if (!isWaiting(waiter) || !isQueued(waiter)) return false; // it was taken a moment ago
    this.drop(waiter);
    if (hook !== undefined) reportGiveUp(waiter, "error");
    return true;
  }

  leave(registration: WaiterRegistration<T>): boolean {
    const waiter = registration.waiter as W;
    if (registrationOf(waiter) !== registration || !isQueued(waiter)) return false; // it was taken a moment ago
    setRegistration(waiter, undefined);
    this.drop(waiter);
    return true;
  }

  settle(registration: WaiterRegistration<T>, outcome: CancelOutcome): void {
    registration.reject(registration.reasonFor(outcome));
    if (hook !== undefined) reportGiveUp(registration.waiter, outcome);
  }

  afterLeave(): void {
    this.#owner?.afterLeave();
  }

  /** Marks an entry. It stays until such entries outnumber the live ones. */
  private drop(waiter: W): void {
    setResolve(waiter, undefined);
    this.discount(waiter);
    if (++this.#gaps > this.#size + SPARE) this.compact();
    endRegistration(waiter);
  }

  private link(waiter: W, resolve: Resolve<T>): void {
    const permits = link(waiter, resolve, this.#tail);
    this.#tail = waiter;
    this.#head ??= waiter;
    this.#size++;
    if (permits > 1) this.#large++;
  }

  discount(waiter: W): void {
    this.#size--;
    if (this.#large > 0 && permitsOf(waiter) > 1) this.#large--;
  }

  unlink(first: W): void {
    this.#head = unlink(first);
    if (this.#head === undefined) this.#tail = undefined;
  }

  /** Drops the marked entries. */
  private compact(): void {
    let waiter = this.#head;
    this.#head = this.#tail = undefined;
    this.#size = this.#gaps = this.#large = 0;
    while (waiter !== undefined) {
      const next: W | undefined = unlink(waiter);
      const resolve = resolveOf<T>(waiter);
      if (resolve !== undefined) this.link(waiter, resolve);
      waiter = next;
    }
  }
}

/** Removes all present waiters but those whose signals are aborted. The caller settles them, in order, in the same step. */
export function drain<T, W extends Waiter<T>>(queue: WaitQueue<T, W>): W[] {
  queue.cancelAborted();
  return queue.takeAll();
}

/**
 * Grants to the first waiters, at most `count`, in order, once all of them have left. A function, so that bundlers drop it
 * where it is not used.
 */
export function wakeFirst<T, W extends Waiter<T>>(queue: WaitQueue<T, W>, count: number, value: T): void {
  const woken: W[] = [];
  for (let first: W | undefined; count-- > 0 && (first = queue.peek()) !== undefined; woken.push(first)) {
    queue.unlink(first);
    queue.discount(first);
  }
  for (const waiter of woken) endRegistration(waiter); // leaving a foreign signal runs its code
  for (const waiter of woken) grant(waiter, value);
}

/**
 * Closes queues for good and rejects all of their waiters with the reason. The first reason stays.
 *
 * @param reason Default: an AbortError.
 * @param settle How a waiter that has left is settled.
 */
export function cancelQueues<T, W extends Waiter<T>>(
  queues: readonly WaitQueue<T, W>[],
  reason: unknown,
  settle: (waiter: W, reason: unknown) => void = reject,
): void {
  const { reason: cause } = AbortSignal.abort(reason);
  const closed = queues.filter((queue) => queue.close(cause));
  for (const queue of closed) queue.cancelAborted();
  for (const waiter of closed.flatMap((queue) => queue.takeAll())) if (isWaiting(waiter)) settle(waiter, cause);
}

/** The rejection of a call that would be one more than may wait. */
export function refuse(waiter: Waiter<never>, waiting: number): Promise<never> {
  if (hook !== undefined) reportGiveUp(waiter, "full");
  const calls = waiting === 1 ? "1 call is" : `${waiting} calls are`;
  return Promise.reject(new QueueFullError(`Cannot ${waitsFor(waiter).operation}: ${calls} waiting already`));
}

function isQueued(waiter: Waiter<never>): boolean {
  return nextOf(waiter) !== undefined;
}

function behind<W extends Waiter<never>>(waiter: W): W | undefined {
  const next = nextOf(waiter);
  return next === waiter ? undefined : next;
}

function endRegistration(waiter: Waiter<never>): void {
  const registration = registrationOf(waiter);
  if (registration === undefined) return;
  setRegistration(waiter, undefined);
  registration.end();
}

/** Cloudflare cancels a request that waits for nothing but another request. A timer of its own keeps it. */
export function keepRequest(isWaiting: () => boolean): void {
  const mayWait = isWaiting(); // if not, the grant may still be on its way from the other request
  onCancel({ timeout: KEPT_FOR }, () => mayWait && keepRequest(isWaiting));
}
