/**
 * The time until which a lease can be trusted. Each ttl requested by `extend()` has a number, which every command
 * carries. The server refuses a command with a smaller number than the last one set, so a late command shortens
 * nothing. Invariant: the local deadline is never later than the server's end, nor than any end that a command in
 * flight may set.
 *
 * @module
 */
import type { Settings } from "../options.ts";
import { CLOCK_ROUNDING, clockTolerance, type Moment, moment, now, renewAgainAfter, trustedTime } from "../times.ts";

/** Test frameworks replace it, often without the monotonic clock: its time is then no sign of a suspended machine. */
const PlatformDate = Date;

export class LeaseDeadline {
  // All are set in here alone.
  /** The time that is asked for, and its number. */
  ttl: number;
  number = 0;
  /** The last ones that the server has confirmed. */
  #confirmedTtl: number;
  #confirmedNumber = 0;
  /** Local time from which the lease is no longer trusted. */
  at = 0;
  /** Local time of the next renewal. */
  renewAt = Infinity;
  /** Local time after which it is not renewed. */
  readonly #renewsUntil: number;
  /** The clocks' difference when the last confirmed command was sent. */
  #wallAhead: number;
  /** Whether the clocks disagreed at the last check, so that a renewal was already asked for. */
  #isDoubted = false;

  /** @param trustedFrom When the command that confirmed the hold was sent. */
  constructor({ ttl, renew }: Settings, trustedFrom: Moment) {
    this.ttl = this.#confirmedTtl = ttl;
    this.#renewsUntil = renew === 0 ? -Infinity : trustedFrom.at + renew;
    this.#wallAhead = trustedFrom.wallAhead;
    this.#setDeadline(trustedFrom.at + trustedTime(ttl));
  }

  /** `at` on the wall clock. */
  get expiresAt(): number {
    return Math.round(this.at + this.#wallAhead);
  }

  /**
   * Returns whether the two clocks still agree since the last confirmation. If not, the machine was suspended or a
   * clock was set: a renewal is then due immediately, once.
   */
  checkClocks(): boolean {
    const difference = Math.abs(moment().wallAhead - this.#wallAhead);
    const isDoubtful = difference > clockTolerance(this.ttl) && Date === PlatformDate;
    if (isDoubtful && !this.#isDoubted) this.#renewAt(now(), this.renewAt);
    this.#isDoubted = isDoubtful;
    return !isDoubtful;
  }

  /**
   * Prepares a request for another ttl, and returns its number. Whether or not the server sets it or the answer
   * arrives, the deadline stays safe.
   */
  request(sentAt: number, ttl: number): number {
    this.ttl = ttl;
    this.#setDeadline(Math.min(this.at, sentAt + trustedTime(ttl)));
    return ++this.number;
  }

  /**
   * Called when the ttl with this number was refused: the last confirmed ttl is requested again, unless a later one
   * was.
   */
  refused(number: number): void {
    if (number === this.number) this.#confirmedNumber = this.request(now(), this.#confirmedTtl);
  }

  /** The server has set the end to one `ttl` after `sent`, or later. A late answer with a smaller number is ignored. */
  confirm(sent: Moment, number: number): void {
    if (number !== this.number) return;
    this.#confirmedTtl = this.ttl;
    this.#confirmedNumber = number;
    this.#trustClocksOf(sent);
    this.#setDeadline(Math.max(this.at, sent.at + trustedTime(this.ttl)));
  }

  /** At `sent` or later, the server kept the hold for another `rest` milliseconds. */
  verify(sent: Moment, rest: number): void {
    this.#trustClocksOf(sent);
    const end = sent.at + rest - (this.ttl - trustedTime(this.ttl));
    if (end < this.at) this.#setDeadline(end);
  }

  /** Called when a command was sent that sets the end: its answer, its failure or silence follows. */
  asked(): void {
    this.renewAt = Infinity;
  }

  /** Schedules another command soon after a failed one. */
  retry(): void {
    this.#renewAt(now() + renewAgainAfter(this.ttl));
  }

  #trustClocksOf({ wallAhead }: Moment): void {
    if (Math.abs(wallAhead - this.#wallAhead) > CLOCK_ROUNDING) this.#wallAhead = wallAhead;
    this.#isDoubted = false;
  }

  /** Sets the deadline, and the renewal after a third of the ttl. */
  #setDeadline(at: number): void {
    this.at = at;
    this.#renewAt(at - this.ttl * 2 / 3);
  }

  /** Sets the next renewal; to `otherwise` if the lease is no longer renewed at that time. */
  #renewAt(time: number, otherwise = Infinity): void {
    const isAsked = this.number > this.#confirmedNumber; // an extension is tried again, even if the lease is not renewed
    this.renewAt = isAsked || time <= this.#renewsUntil ? time : otherwise;
  }
}
