/**
 * An entry of a queue, and how its wait begins and ends.
 *
 * @module
 */
import type { CancelRegistration } from "./cancellation.ts";
import { named } from "./check.ts";
import { type GiveUpOutcome, hook, type Resource } from "./hook.ts";

/** The target of a wait: a primitive, a side or a key of one. */
export interface WaitedFor extends Omit<Resource, "kind"> {
  /** As in {@linkcode Resource}; undefined for inner waits, which are not reported. */
  readonly kind: string | undefined;
  /** The operation that waits, as in "Cannot ⟨acquire lock⟩: timed out". */
  readonly operation: string;
}

/** Settles the promise of a wait. */
export type Resolve<T> = (value: T | PromiseLike<T>) => void;

/** An entry of a queue. A guard is its own entry, which saves an object for each acquisition. */
export interface Waiter<T> {
  readonly waitsFor: WaitedFor;
  /** How many permits it waits for; 1 where there are none. */
  readonly permits: number;
  /** Settles the wait; undefined exactly while it is in no queue. */
  resolve: Resolve<T> | undefined;
  /** How it is cancelled, if it can be. */
  registration: CancelRegistration | undefined;
  /** The waiter behind it. */
  next: this | undefined;
}

/** A waiter that gets no guard. */
export class PlainWaiter<T> implements Waiter<T> {
  readonly waitsFor: WaitedFor;
  readonly permits: number;
  resolve: Resolve<T> | undefined = undefined;
  registration: CancelRegistration | undefined = undefined;
  next: this | undefined = undefined;

  constructor(waitsFor: WaitedFor, permits = 1) {
    this.waitsFor = waitsFor;
    this.permits = permits;
  }
}

/** Something to wait for that hands out no guard. */
export function describe(kind: string | undefined, operation: string, name?: string): WaitedFor {
  return { kind, name, operation: named(operation, name) };
}

/** Resolves a dequeued waiter. */
export function grant<T>(waiter: Waiter<T>, value: T | PromiseLike<T>): void {
  settle(waiter, value);
  if (hook !== undefined) reportGrant(waiter);
}

/** Rejects a dequeued waiter. */
export function reject<T>(waiter: Waiter<T>, error: unknown): void {
  settle(waiter, Promise.reject(error));
  if (hook !== undefined) reportGiveUp(waiter, "error");
}

function settle<T>(waiter: Waiter<T>, value: T | PromiseLike<T>): void {
  const resolve = waiter.resolve!;
  waiter.resolve = undefined;
  resolve(value);
}

/** One acquisition, as the hook sees it. */
type Call = Pick<Waiter<never>, "waitsFor" | "permits">;

/**
 * Reports that a call has joined a queue. Each of these is called only while there is a hook, and after everything that
 * it reports is done: an observer may use the same queue.
 */
export function reportWait(call: Call): void {
  if (isReported(call.waitsFor)) hook?.wait(call.waitsFor, call, call.permits);
}

/** Reports a grant, also to a call that did not have to wait. */
export function reportGrant(call: Call): void {
  if (isReported(call.waitsFor)) hook?.grant(call.waitsFor, call, call.permits);
}

/** Reports that a call has left its queue without a grant. */
export function reportGiveUp(call: Call, outcome: GiveUpOutcome): void {
  if (isReported(call.waitsFor)) hook?.giveUp(call.waitsFor, call, outcome);
}

/** The end of the message of a time-out. */
export function holderOf(waitsFor: WaitedFor): string {
  return hook !== undefined && isReported(waitsFor) ? hook.holderOf(waitsFor) : "";
}

function isReported(waitsFor: WaitedFor): waitsFor is WaitedFor & Resource {
  return waitsFor.kind !== undefined;
}
