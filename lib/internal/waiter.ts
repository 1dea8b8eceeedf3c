/**
 * An entry of a queue, and how its wait begins and ends. A guard is its own entry, which saves an object for each
 * acquisition, and of the same class: V8 makes instances of a derived class much slower. So the fields are private, also
 * to the guard's holder: code outside of this file reads and writes them by the functions that the class hands out here.
 * A call of such a function is not free, so the steps of each turn of a lock have one for several fields.
 *
 * @module
 */
import type { CancelRegistration } from "./cancellation.ts";
import { named } from "./check.ts";
import { ASYNC_DISPOSE, DISPOSE } from "./dispose.ts";
import { type GiveUpOutcome, hook, type Resource } from "./hook.ts";
import { show } from "./show.ts";
import type { Guard } from "../types.ts";

/** The target of a wait: a primitive, a side or a key of one. */
export interface WaitedFor extends Omit<Resource, "kind"> {
  /** As in {@linkcode Resource}; undefined for inner waits, which are not reported. */
  readonly kind: string | undefined;
  /** The operation that waits, as in "Cannot ⟨acquire lock⟩: timed out". */
  readonly operation: string;
  readonly lender?: undefined;
  /** Called once for each granted hold of it, when it ends. */
  onRelease?(hold: Waiter<never>): void;
}

/** A wait that a hold is lent to; the lender is what that hold is of. */
export interface Borrower {
  readonly lender: WaitedFor;
  /** Called when the hold is released instead of going back to its lender. */
  onRelease?(hold: Waiter<never>): void;
}

/** Settles the promise of a wait. */
export type Resolve<T> = (value: T | PromiseLike<T>) => void;

/** The owner of an entry; undefined for a guard that is spent. */
let targetOf: (waiter: Waiter<never>) => WaitedFor | Borrower | undefined;
export let setTarget: (waiter: Waiter<never>, target: WaitedFor | Borrower | undefined) => void;
/** How many permits it waits for, and then holds; 1 where there are none. */
export let permitsOf: (waiter: Waiter<never>) => number;
/** Whether it waits: it is neither settled nor cancelled. */
export let isWaiting: (waiter: Waiter<never>) => boolean;
/** Settles its wait; undefined exactly while it does not wait. */
export let resolveOf: <T>(waiter: Waiter<T>) => Resolve<T> | undefined;
export let setResolve: <T>(waiter: Waiter<T>, resolve: Resolve<T> | undefined) => void;
/** How its wait, or later its function, is cancelled, if it can be. */
export let registrationOf: (waiter: Waiter<never>) => CancelRegistration | undefined;
export let setRegistration: (waiter: Waiter<never>, registration: CancelRegistration | undefined) => void;
/** The entry behind it; the last one of a queue links to itself. Undefined exactly while it is in no queue. */
export let nextOf: <W extends Waiter<never>>(waiter: W) => W | undefined;
/** Links it behind `last`, if there is one, to wait. Returns how many permits it waits for. */
export let link: <T>(waiter: Waiter<T>, resolve: Resolve<T>, last: Waiter<T> | undefined) => number;
/** Unlinks the first entry of a queue: a dequeued one keeps none of it alive. Returns the next one. */
export let unlink: <W extends Waiter<never>>(first: W) => W | undefined;
/** Whether it waits, and nothing can cancel it. */
export let isUncancellable: (waiter: Waiter<never>) => boolean;
/** Settles an entry that is in no queue any more. */
let settle: <T>(waiter: Waiter<T>, value: T | PromiseLike<T>) => void;

/** An entry of a queue in which each waits for a `T`; as a guard, it is spent once, and stays inert afterwards. */
export class Waiter<T> implements Guard {
  #target: WaitedFor | Borrower | undefined;
  readonly #permits: number;
  #resolve: Resolve<T> | undefined = undefined;
  #registration: CancelRegistration | undefined = undefined;
  #next: Waiter<T> | undefined = undefined;

  // A spent one. When a collection finds no instance of a class, V8 throws away the code that was compiled for it.
  static readonly #first = new Waiter(undefined);

  static {
    show(Waiter, "Guard", ["held"]);
    targetOf = (waiter) => waiter.#target;
    setTarget = (waiter, target) => waiter.#target = target;
    permitsOf = (waiter) => waiter.#permits;
    isWaiting = (waiter) => waiter.#resolve !== undefined;
    resolveOf = (waiter) => waiter.#resolve;
    setResolve = (waiter, resolve) => waiter.#resolve = resolve;
    registrationOf = (waiter) => waiter.#registration;
    setRegistration = (waiter, registration) => waiter.#registration = registration;
    nextOf = <W extends Waiter<never>>(waiter: W) => waiter.#next as W | undefined;
    link = (waiter, resolve, last) => {
      waiter.#resolve = resolve;
      waiter.#next = waiter;
      if (last !== undefined) last.#next = waiter;
      return waiter.#permits;
    };
    unlink = <W extends Waiter<never>>(first: W) => {
      const next = first.#next;
      first.#next = undefined;
      return next === first ? undefined : next as W;
    };
    isUncancellable = (waiter) => waiter.#resolve !== undefined && waiter.#registration === undefined;
    settle = (waiter, value) => {
      const resolve = waiter.#resolve!;
      waiter.#resolve = undefined;
      resolve(value);
    };
  }

  constructor(target: WaitedFor | Borrower | undefined, permits = 1) {
    this.#target = target;
    this.#permits = permits;
  }

  get held(): boolean {
    return this.#target !== undefined && this.#target.lender === undefined;
  }

  release(): void {
    const owner = this.#target;
    if (owner === undefined) return;
    this.#target = undefined;
    if (hook !== undefined && owner.lender === undefined) hook.release(owner as WaitedFor & Resource, this);
    owner.onRelease!(this);
  }

  [DISPOSE](): void {
    this.release();
  }

  async [ASYNC_DISPOSE](): Promise<void> {
    await this.release();
  }
}

/** Something to wait for that is never held. */
export function describe(kind: string | undefined, operation: string, name?: string): WaitedFor {
  return { kind, name, isHeld: false, operation: named(operation, name) };
}

/** The target of a wait, also of a hold that is lent. */
export function waitsFor(waiter: Waiter<never>): WaitedFor {
  const target = targetOf(waiter)!;
  return target.lender ?? target as WaitedFor;
}

/** Resolves a dequeued waiter. */
export function grant<T>(waiter: Waiter<T>, value: T | PromiseLike<T>): void {
  settle(waiter, value);
  if (hook !== undefined) reportGrant(waiter);
}

/** Rejects a dequeued waiter. */
export function reject<T>(waiter: Waiter<T>, error: unknown): void {
  const rejected = Promise.reject(error);
  // The waiter's promise adds its handler a turn later. Until then Deno would keep this one in a list, which it searches for
  // each such handler: many at once would take the square of their number.
  rejected.catch(() => {});
  giveUp(waiter, rejected);
}

/** Resolves a dequeued waiter that was not granted what it waited for. */
export function giveUp<T>(waiter: Waiter<T>, value: T | PromiseLike<T>): void {
  const target = hook && waitsFor(waiter); // a hold that was lent is spent then
  settle(waiter, value);
  if (target !== undefined) reportGiveUp(waiter, "error", target);
}

/**
 * Reports that a call has joined a queue. Each of these is called only while there is a hook, and after everything that
 * it reports is done: an observer may use the same queue.
 */
export function reportWait(call: Waiter<never>): void {
  const target = waitsFor(call);
  if (isReported(target)) hook?.wait(target, call, permitsOf(call));
}

/** Reports a grant, also to a call that did not have to wait. */
export function reportGrant(call: Waiter<never>): void {
  const target = waitsFor(call);
  if (isReported(target)) hook?.grant(target, call, permitsOf(call));
}

/** Reports that a call has left its queue without a grant. */
export function reportGiveUp(call: Waiter<never>, outcome: GiveUpOutcome, target: WaitedFor = waitsFor(call)): void {
  if (isReported(target)) hook?.giveUp(target, call, outcome, permitsOf(call));
}

/** The error of a call that must not wait, if it is one. */
export function deadlockOf(call: Waiter<never>): Error | undefined {
  const target = waitsFor(call);
  return isReported(target) ? hook?.deadlockOf(target, call, target.operation) : undefined;
}

/** The end of the message of a time-out. */
export function holderOf(target: WaitedFor): string {
  return hook !== undefined && isReported(target) ? hook.holderOf(target) : "";
}

function isReported(target: WaitedFor): target is WaitedFor & Resource {
  return target.kind !== undefined;
}
