/** The process warnings emitted while it is on, in place of printing them. */
import process from "node:process";

export class Warnings implements Disposable {
  readonly #before = process.emitWarning;
  /** Code and text of each. */
  readonly seen: string[] = [];

  constructor() {
    process.emitWarning = ((message: string, { code }: { code: string }) => {
      // Of a shutdown of an earlier test.
      if (code !== "INTERLOCK_STILL_ALIVE") this.seen.push(`${code}: ${message}`);
    }) as typeof process.emitWarning;
  }

  [Symbol.dispose](): void {
    process.emitWarning = this.#before;
  }
}
