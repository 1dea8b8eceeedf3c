/**
 * Until when a lease can be trusted. Each ttl that `extend()` asks for has a number, which every command carries; the server
 * refuses one with a smaller number than the last that it has set, so a command that comes late shortens nothing. Invariant: the
 * local deadline is never later than the end that the server keeps, nor than any end that a command in flight may set.
 *
 * @module
 */
import type { Settings } from "../options.ts";
import { clocksMoved, clockTolerance, now, renewAgainAfter, trusted } from "../times.ts";

/** A moment on both local clocks. */
export interface Moment {
  /** Milliseconds on the monotonic clock. */
  readonly at: number;
  /** Milliseconds by which the wall clock is ahead of it. */
  readonly wallAhead: number;
}

export function moment(): Moment {
  const at = now();
  return { at, wallAhead: Date.now() - at };
}

export class LeaseDeadline {
  // All are set in here alone.
  /** The time that is asked for, and its number. */
  ttl: number;
  number = 0;
  /** The last one that the server has confirmed. */
  #confirmedTtl: number;
  /** Local time from which the lease is not trusted. */
  at = 0;
  /** Local time of the next renewal. */
  renewAt = Infinity;
  /** Local time after which it is not renewed. */
  readonly #renewsUntil: number;
  /** The clocks' difference when the last confirmed command was sent. */
  #wallAhead: number;
  #doubted = false;

  /** @param heard When the command was sent by which the server has heard of the hold. */
  constructor({ ttl, renew }: Settings, heard: Moment) {
    this.ttl = this.#confirmedTtl = ttl;
    this.#renewsUntil = renew === 0 ? -Infinity : now() + renew;
    this.#wallAhead = heard.wallAhead;
    this.#set(heard.at + trusted(ttl));
  }

  /** `at` on the wall clock. */
  get expiresAt(): number {
    return Math.round(this.at + this.#wallAhead);
  }

  /**
   * Returns whether the two clocks agree since the last confirmation. If they do not, the machine was suspended, or a
   * clock was set: a renewal is then due immediately, once.
   */
  checkClocks(): boolean {
    const apart = Math.abs(moment().wallAhead - this.#wallAhead);
    const doubt = apart > clockTolerance(this.ttl);
    if (doubt && !this.#doubted) this.#renewAt(now(), this.renewAt);
    this.#doubted = doubt;
    return !doubt;
  }

  /**
   * Before another time is asked for: whether or not it is set, and whether or not the answer arrives, no other holder may
   * get in. Returns its number.
   */
  ask(sentAt: number, ttl: number): number {
    this.ttl = ttl;
    this.#set(Math.min(this.at, sentAt + trusted(ttl)));
    return ++this.number;
  }

  /** The time with this number was refused: what was confirmed before is asked for again, unless there is a later one. */
  refused(number: number): void {
    if (number === this.number) this.ask(now(), this.#confirmedTtl);
  }

  /** The server has set the end to one `ttl` after `sent`, or later. A late answer, of a smaller number, says nothing. */
  confirm(sent: Moment, number: number): void {
    if (number !== this.number) return;
    this.#confirmedTtl = this.ttl;
    this.#trustClocksOf(sent);
    this.#set(Math.max(this.at, sent.at + trusted(this.ttl)));
  }

  /** The server has said at `sent`, or later, that it keeps the hold for `rest` milliseconds more. */
  verify(sent: Moment, rest: number): void {
    this.#trustClocksOf(sent);
    const end = sent.at + rest - (this.ttl - trusted(this.ttl));
    if (end < this.at) this.#set(end);
  }

  /** A renewal is sent: without an answer by then, the next one follows. */
  renewing(limit: number): void {
    this.#renewAt(now() + limit + renewAgainAfter(this.ttl));
  }

  /** A renewal has failed: tries again soon. */
  retry(): void {
    this.#renewAt(now() + renewAgainAfter(this.ttl));
  }

  #trustClocksOf({ wallAhead }: Moment): void {
    if (clocksMoved(wallAhead - this.#wallAhead)) this.#wallAhead = wallAhead;
    this.#doubted = false;
  }

  #set(at: number): void {
    this.at = at;
    this.#renewAt(at - this.ttl * 2 / 3);
  }

  #renewAt(time: number, otherwise = Infinity): void {
    this.renewAt = time <= this.#renewsUntil ? time : otherwise;
  }
}
