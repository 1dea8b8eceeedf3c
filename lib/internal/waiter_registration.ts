/**
 * The cancellation of one waiter of a queue. Invariant: if a wait has a signal or a time-out, the waiter has its
 * registration exactly while it is in the queue, which sets and clears it.
 *
 * @module
 */
import { type Cancellable, type CancelOutcome, CancelRegistration, timedOut } from "./cancellation.ts";
import { holderOf, type Waiter, waitsFor } from "./waiter.ts";
import type { TimeoutError } from "../errors.ts";

/** The registration of one waiter with its signal and its time-out. */
export class WaiterRegistration<T> extends CancelRegistration {
  readonly waiter: Waiter<T>;
  readonly reject: (reason: unknown) => void;
  readonly timeout: number;

  constructor(
    queue: Cancellable<WaiterRegistration<T>>,
    waiter: Waiter<T>,
    reject: (reason: unknown) => void,
    timeout: number,
  ) {
    super(queue);
    this.waiter = waiter;
    this.reject = reject;
    this.timeout = timeout;
  }

  /** The reason to reject with; asking a foreign signal for it may run code that uses the same queue. */
  reasonFor(outcome: CancelOutcome): unknown {
    return outcome === "aborted" ? this.reason : timedOutError(this.waiter, this.timeout);
  }
}

/** The error of a waiter that timed out. The diagnostics add the holder to its message. */
export function timedOutError(waiter: Waiter<never>, timeout: number): TimeoutError {
  const target = waitsFor(waiter);
  return timedOut(target.operation, timeout, holderOf(target));
}
