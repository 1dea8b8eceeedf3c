/**
 * The data that a store keeps for a rate limit, and how it is asked. Invariant: a turn that was given is taken, or given back.
 *
 * @module
 */
import { RedisError } from "../errors.ts";
import type { ServerClock } from "../clock.ts";

/** One rate limit in a store. */
export interface StoredRate {
  readonly keys: readonly [head: string, starts: string];
  readonly limit: number;
  /** Milliseconds. */
  readonly interval: number;
  /** As errors name it: `rate limiter "crawl"`. */
  readonly what: string;
  readonly clock: ServerClock;
}

export interface StartRequest {
  readonly rate: StoredRate;
  readonly permits: number;
  /** The longest wait in milliseconds; less than 0 to take nothing. */
  readonly within: number;
  /** Server time after which it is refused; 0: none. */
  readonly latest: number;
  /** The call has ended. */
  readonly settled: boolean;
}

/** The turn of one call. It is given back by its number and its start. */
export interface Turn {
  /** Milliseconds. */
  readonly wait: number;
  readonly number: number;
  /** Grows from turn to turn, modulo 2^32. The server's clock does not: it can be set back. */
  readonly start: number;
}

export type StartAnswer =
  | { readonly kind: "turn"; readonly turn: Turn }
  /** Nothing was taken: the turn would come after this many milliseconds. */
  | { readonly kind: "later"; readonly wait: number }
  /** It came too late by the server's clock. */
  | { readonly kind: "refused" };

/** The rate limits of a store. As with every request to a store, each may run twice, or later than its caller waits. */
export interface RateStore {
  /** Gives a call its turn; see {@linkcode StartRequest}. */
  start(request: StartRequest, limit: number, late?: (answer: StartAnswer) => void): Promise<StartAnswer>;
  /** Takes back a turn that its caller does not use. */
  giveBack(rate: StoredRate, permits: number, turn: Turn, limit: number): Promise<void>;
}

/** A part of the interval in which starts are counted, small enough that rounding costs nothing that could be measured. */
const UNITS = 2 ** 20;

/** The first arguments of the scripts: limit, interval, unit, window, life. */
export function rateArguments({ limit, interval }: StoredRate): string[] {
  const microseconds = Math.ceil(interval * 1000);
  const unit = Math.ceil(microseconds / UNITS);
  // A start may come up to one unit after the moment that is stored.
  const window = Math.ceil(microseconds / unit) + (unit > 1 ? 1 : 0);
  return [limit, microseconds, unit, window, Math.ceil(interval)].map(String);
}

/** The callers disagree. */
export function rateError(
  { what, limit, interval }: StoredRate,
  otherLimit: number,
  otherInterval: number,
): RedisError {
  const [here, there] = [`${limit} in ${interval} ms`, `${otherLimit} in ${otherInterval} ms`];
  return new RedisError(`Cannot acquire ${what}: it is in use with ${there} elsewhere, with ${here} here`);
}
