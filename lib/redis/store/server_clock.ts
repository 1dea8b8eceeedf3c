/**
 * The clock of one server, as its answers show it. Invariant: an estimate is never ahead of the server, so that a request
 * is only ever refused too early, by one round trip at most.
 *
 * @module
 */
import { now } from "../times.ts";

export class ServerClock {
  /** Microseconds of server time at local time 0, at the earliest; undefined before the first answer. */
  #zero: number | undefined;

  get known(): boolean {
    return this.#zero !== undefined;
  }

  /** Takes over the time from an answer that has just arrived. */
  saw(microseconds: number): void {
    if (Number.isFinite(microseconds)) this.#zero = microseconds - now() * 1000;
  }

  /** The server's time at a local moment, or a little less. */
  at(local: number): number {
    return Math.floor((this.#zero ?? 0) + local * 1000);
  }
}
