/**
 * The interface to the rate limits of a store. Invariant: each granted turn is taken or given back. Each request is
 * judged by its own budgets. Times are milliseconds from now, so that callers need not know the store's clock.
 *
 * @module
 */
import type { Starts } from "../../internal/budgets.ts";
import type { Quota } from "../../internal/start_log.ts";
import type { SentCommand } from "../store/commands.ts";

/** One rate limit in a store, as one caller uses it. */
export interface StoredRate {
  readonly keys: readonly [head: string, list: string];
  readonly budgets: readonly Quota[];
}

export interface StartRequest {
  readonly spec: StoredRate;
  readonly starts: Starts;
  /** The longest wait in milliseconds; less than 0 to take nothing. */
  readonly within: number;
}

/** A turn is known by its number, which is larger than that of every turn ahead, even if the data has expired since. */
export interface StartAnswer {
  /** The milliseconds until the turn. */
  readonly wait: number;
  /** The number of the turn; undefined if nothing was taken. */
  readonly number: number | undefined;
  /** Starts that could be made now. Known if nothing was to be taken. */
  readonly remaining: number;
  /** The budgets of the last caller, if they differ. */
  readonly differing: readonly Quota[] | undefined;
}

/** The argument of {@linkcode RateStore.change}. */
export interface RateChange {
  /** Starts of each budget to count now, or below 0 to give back at most. */
  readonly starts?: Starts;
  /** Milliseconds to block. */
  readonly block?: number;
}

/** The rate limits of a store. A request may run twice, or later than its caller waits. */
export interface RateStore {
  /** Gives a call its turn; see {@linkcode StartRequest}. */
  start(request: StartRequest, command: SentCommand): Promise<StartAnswer>;
  /**
   * Asks at its turn whether a call that has slept may start. The answer has its number, with a wait of 0 or the wait
   * until it is to ask again: it keeps its place.
   */
  askAgain(request: StartRequest, number: number, command: SentCommand): Promise<StartAnswer>;
  /** Takes back a turn that its caller does not use. */
  giveBack(request: StartRequest, number: number): Promise<void>;
  /** Gives back or counts starts, or blocks. */
  change(rate: StoredRate, change: RateChange, command: SentCommand): Promise<void>;
}
