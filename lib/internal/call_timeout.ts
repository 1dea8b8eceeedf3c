/**
 * The time-out of one call that waits several times. It runs from the beginning of the call to its end, also between the
 * waits: a rest computed from a clock would be wrong where tests replace the timers and not the clock.
 *
 * @module
 */
import { type CallClock, type Cancellable, type CancelOutcome, CancelRegistration } from "./cancellation.ts";

export class CallTimeout implements Cancellable<CancelRegistration>, CallClock {
  /** Set exactly while the call waits. */
  #wait: CancelRegistration | undefined;
  /** The queue whose phase two is due. */
  #cancelled: Cancellable<CancelRegistration> | undefined;
  #isOver = false;
  readonly #timer: CancelRegistration;

  /** @param timeout In ms; may be Infinity. */
  constructor(timeout: number) {
    this.#timer = new CancelRegistration(this).begin({ timeout });
  }

  /** Whether the time is over. */
  get isOver(): boolean {
    return this.#isOver;
  }

  add(wait: CancelRegistration): void {
    wait.clock = this;
    this.#wait = wait;
  }

  delete(): void {
    this.#wait = undefined;
  }

  isInForce(): boolean {
    return !this.#timer.isStale;
  }

  leave(_: CancelRegistration, outcome: CancelOutcome): void {
    this.#isOver = true;
    this.#cancelled = this.#wait?.cancel(outcome);
  }

  afterLeave(): void {
    this.#cancelled?.afterLeave();
  }

  /** The call has ended. */
  end(): void {
    this.#timer.end();
  }
}
