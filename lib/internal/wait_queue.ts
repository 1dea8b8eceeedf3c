/**
 * The queue that everything local waits in, first come, first served.
 *
 * Each waiter links to the next one; a ring was a little slower with up to a thousand waiters, and faster with ten
 * thousand. A cancelled waiter is marked in place, O(1), and passed over later; the marked ones never outnumber the live
 * ones by more than a constant, so memory is bounded by the live ones. Leaving the queue and settling is one synchronous
 * step: a waiter is granted or cancelled, never both.
 *
 * @module
 */
import type { Cancellable, CancelLimits, CancelOutcome } from "./cancellation.ts";
import { hook } from "./hook.ts";
import { grant, reportGiveUp, reportWait, type Resolve, type Waiter } from "./waiter.ts";
import { timedOutError, WaiterRegistration } from "./waiter_registration.ts";

/** How many more entries may be marked than live. */
const SPARE = 32;

/** The owner of a queue. */
export interface QueueOwner {
  /** Called once after waiters were cancelled: those behind them may fit now. */
  afterLeave(): void;
}

/** A queue of `W`, each of which waits for a `T`. */
export class WaitQueue<T, W extends Waiter<T> = Waiter<T>> implements Cancellable<WaiterRegistration<T>> {
  // From #head to #tail there are #size live waiters and #gaps cancelled ones. #head undefined implies both are 0.
  #head: W | undefined = undefined;
  #tail: W | undefined = undefined;
  #size = 0;
  #gaps = 0;
  /** How many of the live waiters want more than one permit. */
  #large = 0;
  readonly #owner: QueueOwner | undefined;
  // Methods are `private` by type only: those named with # would cost each queue 8 bytes.

  constructor(owner?: QueueOwner) {
    this.#owner = owner;
  }

  /** The number of waiters. */
  get size(): number {
    return this.#size;
  }

  /** The number of waiters that want more than one permit. */
  get large(): number {
    return this.#large;
  }

  /** The waiters in order, by a walk along the queue. */
  waiters(): W[] {
    const waiters: W[] = [];
    for (let waiter = this.#head; waiter !== undefined; waiter = waiter.next) {
      if (waiter.resolve !== undefined) waiters.push(waiter);
    }
    return waiters;
  }

  /** Joins the end of the queue. */
  wait(waiter: W, limits?: CancelLimits): Promise<T> {
    if (limits !== undefined) {
      return new Promise((resolve, reject) => this.join(waiter, resolve, reject, limits));
    }
    // The function given to the promise does nothing that could throw, so engines need not make a `reject` for it.
    const granted = new Promise<T>((resolve) => waiter.resolve = resolve);
    this.link(waiter);
    if (hook !== undefined) reportWait(waiter);
    return granted;
  }

  /** The same for callers that do more than settle a promise. */
  join(waiter: W, resolve: Resolve<T>, reject: (reason: unknown) => void, limits?: CancelLimits): void {
    const { timeout = Infinity } = limits ?? {};
    if (timeout === 0) return reject(timedOutError(waiter, 0));
    waiter.resolve = resolve;
    this.link(waiter);
    if (limits !== undefined) {
      const registration = new WaiterRegistration(this, waiter, reject, timeout);
      waiter.registration = registration;
      try {
        registration.begin(limits);
      } catch (error) {
        if (waiter.registration === registration) {
          this.drop(waiter);
          reject(error);
        }
      }
      // A foreign signal's `addEventListener` may have released what the waiter waits for.
      if (waiter.registration !== registration) registration.end();
    }
    if (hook !== undefined && waiter.resolve !== undefined) reportWait(waiter);
  }

  /** The first waiter. It stays in the queue. */
  peek(): W | undefined {
    for (let first = this.#head; first !== undefined; first = this.#head) {
      if (first.resolve === undefined) {
        this.unlink(first);
        this.#gaps--;
      } else if (!first.registration?.cancelIfAborted()) return first;
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

  /** Grants to the first waiter, and returns it. */
  wakeOne(value: T): W | undefined {
    const waiter = this.take();
    if (waiter !== undefined) grant(waiter, value);
    return waiter;
  }

  /** Grants to all present waiters, in order. */
  wakeAll(value: T): void {
    this.drainWith((waiter) => grant(waiter, value));
  }

  /** Removes all present waiters, in order; `settle` settles each of them. */
  drainWith(settle: (waiter: W) => void): void {
    this.restart((waiter) => {
      endRegistration(waiter);
      settle(waiter);
    });
  }

  /** Removes a waiter anywhere in the queue without settling it. */
  remove(waiter: W): void {
    this.drop(waiter);
    if (hook !== undefined) reportGiveUp(waiter, "error");
  }

  leave(registration: WaiterRegistration<T>, outcome: CancelOutcome): void {
    const { waiter } = registration;
    const reason = registration.reasonFor(outcome);
    this.drop(waiter as W);
    registration.reject(reason);
    if (hook !== undefined) reportGiveUp(waiter, outcome);
  }

  afterLeave(): void {
    this.#owner?.afterLeave();
  }

  /** Marks an entry. It stays until such entries outnumber the live ones. */
  private drop(waiter: W): void {
    endRegistration(waiter);
    waiter.resolve = undefined;
    this.discount(waiter);
    if (++this.#gaps > this.#size + SPARE) this.restart((one) => this.link(one));
  }

  private link(waiter: W): void {
    if (this.#head === undefined) this.#head = waiter;
    else this.#tail!.next = waiter;
    this.#tail = waiter;
    this.#size++;
    if (waiter.permits > 1) this.#large++;
  }

  private discount(waiter: W): void {
    this.#size--;
    if (waiter.permits > 1) this.#large--;
  }

  /** A dequeued waiter keeps none of the queue alive. */
  private unlink(first: W): void {
    this.#head = first.next;
    first.next = undefined;
  }

  /** Begins an empty queue; each waiter of the old one is passed on. */
  private restart(passOn: (waiter: W) => void): void {
    let waiter = this.#head;
    this.#head = this.#tail = undefined;
    this.#size = this.#gaps = this.#large = 0;
    while (waiter !== undefined) {
      const { next } = waiter;
      waiter.next = undefined;
      if (waiter.resolve !== undefined) passOn(waiter);
      waiter = next;
    }
  }
}

function endRegistration<T>(waiter: Waiter<T>): void {
  const { registration } = waiter;
  if (registration === undefined) return;
  waiter.registration = undefined;
  registration.end();
}
