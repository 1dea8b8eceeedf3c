/**
 * The pause of a call between two commands. Invariant: it is active exactly while the call waits for the time of its next
 * command; a request to skip it counts also while a command is in flight, for the pause after that.
 *
 * @module
 */
import { Timer } from "./clock.ts";

export class AcquirePause {
  #end: (() => void) | undefined;
  #skip = false;
  readonly #timer = new Timer(() => this.#end?.(), true);

  get active(): boolean {
    return this.#end !== undefined;
  }

  /** A command is going to be sent: requests from before it no longer count. */
  asking(): void {
    this.#skip = false;
  }

  /** Resolves when it is time for the next command, or after `stop()`. */
  begin(): Promise<void> {
    if (this.#skip) return Promise.resolve();
    return new Promise((resolve) => {
      this.#end = () => {
        this.#end = undefined;
        this.#timer.clear();
        resolve();
      };
    });
  }

  /** Sets its end to this local time. */
  endAt(at: number): void {
    this.#timer.set(at);
  }

  /** Sets its end to this local time, unless it ends sooner. */
  endBy(at: number): void {
    this.#timer.advance(at);
  }

  skip(): void {
    this.#skip = true;
    this.#end?.();
  }

  /** The call has ended. */
  stop(): void {
    this.#timer.clear();
    this.#end?.();
  }
}
