/**
 * The cancellation of one waiter of a queue. Invariant: if a wait has a signal or a time-out, `waiter.registration` is
 * defined exactly while the waiter is in the queue, which sets and clears it.
 *
 * @module
 */
import { type Cancellable, type CancelOutcome, CancelRegistration, reasonOf, timedOut } from "./cancellation.ts";
import { holderOf, type Waiter } from "./waiter.ts";
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

  /** The reason to reject with. To be asked for before {@linkcode end}, which forgets the signal. */
  reasonFor(outcome: CancelOutcome): unknown {
    return outcome === "aborted" ? reasonOf(this.signal!) : timedOutError(this.waiter, this.timeout);
  }
}

/** The error of a waiter that timed out. The diagnostics add the holder to its message. */
export function timedOutError<T>({ waitsFor }: Waiter<T>, timeout: number): TimeoutError {
  return timedOut(waitsFor.operation, timeout, holderOf(waitsFor));
}
