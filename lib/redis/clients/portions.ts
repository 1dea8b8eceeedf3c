/**
 * Hands over the commands of one step of the event loop in portions. Of thousands of commands in one step, a client would
 * read the first answer after it has written the last command: meanwhile the server would idle, leases would age, and
 * renewals would wait. Invariants: commands keep their order, behind urgent ones; at most {@linkcode MOST} are handed
 * over in one step; while the process is busy, at most {@linkcode MOST_WHEN_BUSY} until they are answered, or none is
 * for {@linkcode SILENCE} ms.
 *
 * @module
 */
import { type Cancellation, onCancel } from "../../internal/cancellation.ts";
import { promised } from "../../internal/check.ts";
import { SILENCE } from "../times.ts";
import type { Backend } from "./backend.ts";

const MOST = 16;
const MOST_WHEN_BUSY = 250;

/** The process is busy after a step of so many milliseconds, or when so many commands wait. */
const BUSY = { ms: 20, waiting: 64 } as const;

/** Captured at load, because a fake clock may replace it later and hold commands back for good. */
const { setImmediate } = globalThis as unknown as { setImmediate(fn: () => void): unknown };

export function scheduler(): NonNullable<Backend["schedule"]> {
  const portions = new Portions();
  return portions.send.bind(portions);
}

export class Portions {
  // A command in a queue implies that the end of a portion is awaited
  #room = MOST;
  #isAwaited = false;
  #began = 0;
  readonly #urgent: (() => Promise<unknown>)[] = [];
  readonly #waiting: (() => Promise<unknown>)[] = [];

  /** Hands over a command, now or in one of the next portions. */
  send<T>(command: () => Promise<T>, isUrgent = false): Promise<T> {
    if (this.#room > 0) return this.#handOver(command);
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
    const answer = promised(command);
    if (!this.#isAwaited) {
      this.#isAwaited = true;
      this.#began = performance.now();
      // Scheduled after the command, so that the client, which waits for the same moment, comes first.
      setImmediate(() => this.#next());
    }
    return answer;
  }

  #next(): void {
    const isBusy = performance.now() - this.#began > BUSY.ms || this.#waiting.length > BUSY.waiting;
    const most = this.#room = isBusy ? MOST_WHEN_BUSY : MOST;
    const portion = this.#urgent.splice(0, most);
    portion.push(...this.#waiting.splice(0, most - portion.length));
    this.#isAwaited = isBusy && portion.length > 0;
    this.#began = performance.now();
    const answers = portion.map((handOver) => handOver());
    // Of steps that follow each other by `setImmediate`, Deno reads sockets in one of 61 only (2.9.6).
    if (this.#isAwaited && isBusy) void answered(answers).then(() => this.#next());
  }
}

/** Resolves once all are answered, or none has been for {@linkcode SILENCE} ms. */
function answered(answers: readonly Promise<unknown>[]): Promise<void> {
  return new Promise((resolve) => {
    let left = answers.length;
    let seen = left;
    const check = (): Cancellation =>
      onCancel({ timeout: SILENCE }, () => {
        if (left === seen) return resolve();
        seen = left;
        limit = check();
      });
    let limit = check();
    const note = () => {
      if (--left > 0) return;
      limit.end();
      resolve();
    };
    for (const answer of answers) answer.then(note, note);
  });
}
