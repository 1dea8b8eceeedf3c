/**
 * Whether and when a call tries again while Redis cannot be reached. Invariants: no command gets more time than its
 * call has left. A call without timeout and signal fails one ttl after the client took the first of several failed
 * commands in a row.
 *
 * @module
 */
import type { WaitOptions } from "../../types.ts";
import { NoAnswerError, UnansweredError } from "../errors.ts";
import { backoff, commandLimit, LEAST_LIMIT, LEAST_TRYING, now } from "../times.ts";

/** Maximum number of grants in a row that come after their own end, as when a clock of tests comes or goes. */
const MOST_LATE = 3;

export class RetryPolicy {
  /** Local time at which the call ends at the latest. */
  readonly endsAt: number;
  readonly #ttl: number;
  /** Whether the call has neither timeout nor signal. */
  readonly #isUnlimited: boolean;
  /** The number of failed commands since the last answer. */
  #failures = 0;
  /** The number of grants in a row that came after their own end. */
  #lateGrants = 0;
  /** When the client took the first of the commands that have failed since an answer. */
  failingSince: number | undefined;
  /** The reason why the last commands failed; undefined after an answer. */
  failure: unknown;

  /**
   * @param ttl Milliseconds for which a call without other limits tries; a command gets a third of it, within bounds.
   */
  constructor(ttl: number, { signal, timeout = Infinity }: WaitOptions) {
    this.#ttl = ttl;
    this.endsAt = now() + (timeout || LEAST_LIMIT.acquire); // with 0, a round trip does not count as waiting, but is bounded too
    this.#isUnlimited = timeout === Infinity && signal === undefined;
  }

  /** The milliseconds that the next command may take. */
  get limit(): number {
    const time = now();
    const usualLimit = commandLimit(this.#ttl, LEAST_LIMIT.acquire);
    return Math.max(1, Math.min(usualLimit, this.endsAt - time, this.#failsAt(time) - time));
  }

  /** Called when a grant has come after its own end. Returns whether to ask again at once. */
  grantedTooLate(): boolean {
    return this.#lateGrants++ < MOST_LATE;
  }

  answered(): void {
    this.#failures = this.#lateGrants = 0;
    this.failingSince = this.failure = undefined;
  }

  /** Returns when to try again after a command; undefined once the call has tried for long enough. */
  failed(error: unknown, sentAt: number): number | undefined {
    // A last, short attempt without an answer is less specific than an earlier error of the server or the connection.
    const isVague = error instanceof UnansweredError && !(this.failure instanceof NoAnswerError);
    if (this.failure === undefined || !isVague) this.failure = error;
    this.failingSince ??= sentAt;
    const time = now();
    const end = this.#failsAt(time);
    const wait = backoff(this.#failures++) * (0.5 + Math.random());
    return time < end ? Math.min(time + wait, end) : undefined;
  }

  /** When a call without limits fails if no answer comes; Infinity for any other call. */
  #failsAt(time: number): number {
    return this.#isUnlimited ? (this.failingSince ?? time) + Math.max(this.#ttl, LEAST_TRYING) : Infinity;
  }
}
