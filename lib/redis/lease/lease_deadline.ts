/**
 * Until when a lease can be trusted. Invariant: the local deadline is never later than the end that the server keeps,
 * nor than any end that a command in flight, or without an answer, may set.
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
  readonly gap: number;
}

export function moment(): Moment {
  const at = now();
  return { at, gap: Date.now() - at };
}

/** A hold as the server has granted it. */
export interface Grant {
  readonly id: string;
  readonly fence: number;
  /** Local time of its end, drift taken off. */
  readonly deadline: number;
  /** The clocks' difference when the command was sent from which `deadline` is derived; see {@linkcode Moment}. */
  readonly gap: number;
  /** Server time until which a command of this id, whose answer never came, may still run. */
  readonly inFlightUntil: number;
  /** Milliseconds for which the server may keep it beyond the deadline. */
  readonly keptFor: number;
  /** The acquisition, as the hook knows it. */
  readonly call: object;
}

export class LeaseDeadline {
  // All are set in here alone.
  ttl: number;
  /** Local time from which the lease is not trusted. */
  at = 0;
  /** Local time until which the server may keep the hold: later than `at` after a shorter time was asked for. */
  keptUntil: number;
  /** Local time at which the last command was sent that has set or limited `at`. */
  setBy = -Infinity;
  /** Local time of the next renewal. */
  renewAt = Infinity;
  /** The shortest time of an `extend()` without an answer, and the server time until which it may still be set. */
  unansweredTtl = Infinity;
  #unansweredUntil = 0;
  /** Local time after which it is not renewed. */
  readonly #renewsUntil: number;
  /** The clocks' difference when the last confirmed command was sent. */
  #gap: number;
  #doubted = false;

  constructor({ ttl, renew }: Settings, { deadline, keptFor, gap }: Grant) {
    this.ttl = ttl;
    this.#renewsUntil = renew === 0 ? -Infinity : deadline - trusted(ttl) + renew;
    this.keptUntil = deadline + keptFor;
    this.#gap = gap;
    this.#set(deadline, ttl);
  }

  /** `at` on the wall clock. */
  get expiresAt(): number {
    return Math.round(this.at + this.#gap);
  }

  /**
   * Returns whether the two clocks agree since the last confirmation. If they do not, the machine was suspended, or a
   * clock was set: a renewal is then due immediately, once.
   */
  checkClocks(): boolean {
    const apart = Math.abs(moment().gap - this.#gap);
    const doubt = apart > clockTolerance(this.ttl);
    if (doubt && !this.#doubted) this.#renewAt(now(), this.renewAt);
    this.#doubted = doubt;
    return !doubt;
  }

  /**
   * The server has set the end to one `ttl` after `sent`, or later; a renewal does not make it earlier.
   *
   * @param serverTime The server's clock at `sent`, in microseconds, at the earliest.
   * @param set The `ttl` that `extend()` has set, and so an earlier end as well.
   * @returns Whether the end will stay so.
   */
  confirm(sent: Moment, serverTime: number, set?: number): boolean {
    const ttl = this.ttl = set ?? this.ttl;
    // A command sent before can run after this one, but not once it is too late for it.
    if (serverTime > this.#unansweredUntil) this.unansweredTtl = Infinity;
    const least = Math.min(ttl, this.unansweredTtl);
    this.setBy = sent.at;
    this.#trustClocksOf(sent);
    this.keptUntil = Math.max(sent.at + trusted(ttl), set === undefined ? this.keptUntil : 0);
    this.#set(sent.at + trusted(least), least);
    return least === ttl;
  }

  /** The server has said at `sent`, or later, that it keeps the hold for `rest` milliseconds more. */
  verify(sent: Moment, rest: number): void {
    this.#trustClocksOf(sent);
    const end = sent.at + rest - (this.ttl - trusted(this.ttl));
    if (end < this.at) this.#set(end, this.ttl);
  }

  /**
   * Before the server is asked for this time: whether or not it is set, and whether or not the answer arrives, no other
   * holder may get in.
   *
   * @returns Whether the deadline is earlier now.
   */
  limit(sentAt: number, ttl: number, answerWithin: number): boolean {
    this.keptUntil = Math.max(this.keptUntil, sentAt + answerWithin + ttl);
    this.setBy = sentAt;
    const at = sentAt + trusted(ttl);
    if (at >= this.at) return false;
    this.#set(at, ttl);
    return true;
  }

  /** A command that asked for `ttl` has no answer, and may run until that server time. */
  unanswered(ttl: number, until: number): void {
    this.unansweredTtl = Math.min(this.unansweredTtl, ttl);
    this.#unansweredUntil = Math.max(this.#unansweredUntil, until);
  }

  /** A renewal has failed: tries again soon. */
  retry(): void {
    this.#renewAt(now() + renewAgainAfter(this.ttl));
  }

  #trustClocksOf({ gap }: Moment): void {
    if (clocksMoved(gap - this.#gap)) this.#gap = gap;
    this.#doubted = false;
  }

  #set(at: number, ttl: number): void {
    this.at = at;
    this.#renewAt(at - ttl * 2 / 3);
  }

  #renewAt(time: number, otherwise = Infinity): void {
    this.renewAt = time <= this.#renewsUntil ? time : otherwise;
  }
}
