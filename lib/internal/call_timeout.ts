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
  /** The wait whose further phases are due. */
  #cancelled: CancelRegistration | undefined;
  #target: Cancellable<CancelRegistration> | undefined;
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

  leave(_: CancelRegistration, outcome: CancelOutcome): boolean {
    this.#isOver = true;
    if (this.#wait?.leave(outcome)) this.#cancelled = this.#wait;
    return true;
  }

  settle(_: CancelRegistration, outcome: CancelOutcome): void {
    this.#target = this.#cancelled?.settle(outcome);
  }

  afterLeave(): void {
    this.#target?.afterLeave();
  }

  /** The call has ended. */
  end(): void {
    this.#timer.end();
  }
}
