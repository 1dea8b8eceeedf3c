/**
 * The commands of one step of the event loop are handed over in portions. node-redis writes all that it has at the end of
 * a step in one go: the server would have nothing to do until then, and the client nothing until all answers are there.
 * Invariant: the commands keep their order; at most {@linkcode MOST} are handed over in one step, or all after a long one;
 * none is kept back for longer than the steps that those before it need.
 *
 * @module
 */

import { promised } from "../../internal/check.ts";

/** The most commands in one step. */
const MOST = 16;

/** Milliseconds of a step in which other work keeps the client busy: keeping commands back would gain nothing. */
const LONG = 20;

/**
 * Calls `step` at the end of the current step. Wherever node-redis runs there is one; a test may replace it later by that of
 * a clock, which would keep commands back for good.
 */
const { setImmediate } = globalThis as unknown as { setImmediate(step: () => void): unknown };

export class Portions {
  // #room < MOST, or a command in #waiting, implies that the end of the step is awaited
  #room = MOST;
  #began = 0;
  readonly #waiting: (() => void)[] = [];

  /** Hands over a command, now or in one of the next steps. */
  send<T>(command: () => Promise<T>): Promise<T> {
    if (this.#room > 0 && this.#waiting.length === 0) return this.#send(command);
    return new Promise((resolve) => this.#waiting.push(() => resolve(this.#send(command))));
  }

  #send<T>(command: () => Promise<T>): Promise<T> {
    const answer = promised(command);
    // Only now, so that the client, which waits for the same moment, comes first.
    if (this.#room-- === MOST) {
      this.#began = performance.now();
      setImmediate(() => this.#next());
    }
    return answer;
  }

  #next(): void {
    const long = performance.now() - this.#began > LONG;
    this.#room = MOST;
    for (const send of this.#waiting.splice(0, long ? Infinity : MOST)) send();
  }
}
