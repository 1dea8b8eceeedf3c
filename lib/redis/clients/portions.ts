/**
 * Hands over the commands of one turn of the event loop in portions. Of thousands of commands in one turn, a client
 * would read the first answer after it has written the last command: meanwhile the server would idle, leases would age,
 * and renewals would wait. Invariants: commands keep their order, behind urgent ones; at most {@linkcode MOST_AT_ONCE}
 * are handed over in one turn; while the process is busy, at most {@linkcode MOST_WHEN_BUSY} until they are answered,
 * or for {@linkcode SILENCE} ms.
 *
 * @module
 */
import { pause } from "../../internal/cancellation.ts";
import { promiseTry } from "../../internal/check.ts";
import { clockInForce } from "../../internal/timers.ts";
import { SILENCE } from "../times.ts";

const MOST_AT_ONCE = 16;
const MOST_WHEN_BUSY = 250;

/** The process is busy after a turn of so many milliseconds, or when so many commands wait. */
const BUSY = { ms: 20, waiting: 64 } as const;

// Captured at load, as a fake clock may replace them. It has no turns: under one, no command is held back.
const clock = clockInForce();
const { setImmediate } = globalThis as { setImmediate?: (fn: () => void) => void };

export class Portions {
  // A command in a queue implies that the end of a portion is awaited
  /** The number of commands that the present portion still takes. */
  #room = MOST_AT_ONCE;
  #isEndAwaited = false;
  #beganAt = 0;
  readonly #urgent: (() => Promise<unknown>)[] = [];
  readonly #waiting: (() => Promise<unknown>)[] = [];

  /** Hands over a command, now or in one of the next portions. */
  send<T>(command: () => Promise<T>, isUrgent = false): Promise<T> {
    if (setImmediate === undefined) return promiseTry(command);
    if (this.#room > 0 || clockInForce() !== clock) return this.#handOver(command);
    return new Promise((resolve) => {
      (isUrgent ? this.#urgent : this.#waiting).push(() => {
        const answer = this.#handOver(command);
        resolve(answer);
        return answer;
      });
    });
  }

  #handOver<T>(command: () => Promise<T>): Promise<T> {
    this.#room--;
    const answer = promiseTry(command);
    if (!this.#isEndAwaited) {
      this.#isEndAwaited = true;
      this.#beganAt = performance.now();
      // Scheduled after the command, so that the client, which waits for the same moment, comes first.
      setImmediate!(() => this.#next());
    }
    return answer;
  }

  /** Ends a portion, and hands over the next one. */
  #next(): void {
    const isBusy = performance.now() - this.#beganAt > BUSY.ms || this.#waiting.length > BUSY.waiting;
    const most = this.#room = isBusy ? MOST_WHEN_BUSY : MOST_AT_ONCE;
    const portion = this.#urgent.splice(0, most);
    portion.push(...this.#waiting.splice(0, most - portion.length));
    const followsAnswers = this.#isEndAwaited = isBusy && portion.length > 0;
    this.#beganAt = performance.now();
    const answers = portion.map((handOver) => handOver());
    // Of turns that follow each other by `setImmediate`, Deno reads sockets in one of 61 only (2.9.6).
    if (followsAnswers) void pause(SILENCE, undefined, true, Promise.allSettled(answers)).then(() => this.#next());
  }
}
