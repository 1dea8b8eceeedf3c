/**
 * A place in line from which one can be sent away with an error.
 *
 * @module
 */
import { Place, type WaitQueue } from "./_wait_queue.ts";
import type { WaitOptions } from "./types.ts";

export class Refusable<T> extends Place<T> {
  #reject: ((reason: unknown) => void) | undefined;

  /** Joins `line`. Options are checked by now. */
  waitIn(line: WaitQueue<T, Refusable<T>>, options?: WaitOptions): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      line.join(this, resolve, reject, options);
    });
  }

  /** Sends it away. It was just taken out of its line. */
  refuse(reason: unknown): void {
    this.resolve = undefined;
    this.#reject!(reason);
  }
}
