/**
 * The state of one lease. Invariants: it goes from held to lost or to released, once, and never back; the signal is
 * aborted exactly while the lease is lost.
 *
 * @module
 */
import { LeaseLostError, NotHeldError } from "../../errors.ts";

export class LeaseState {
  /** For error messages: "lock "a"". */
  readonly #what: string;
  readonly #onEnd: () => void;
  #released = false;
  #lostError: LeaseLostError | undefined;
  #controller: AbortController | undefined;

  /** @param onEnd Called once the lease is no longer held, before its signal is aborted. */
  constructor(what: string, onEnd: () => void) {
    this.#what = what;
    this.#onEnd = onEnd;
  }

  get held(): boolean {
    return !this.#released && !this.lost;
  }

  get lost(): boolean {
    return this.#lostError !== undefined;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#lostError) this.#controller.abort(this.#lostError);
    }
    return this.#controller.signal;
  }

  lose(reason: string, cause?: unknown): void {
    if (!this.held) return;
    const options = cause === undefined ? undefined : { cause };
    this.#lostError = new LeaseLostError(`Cannot keep ${this.#what}: ${reason}`, options);
    this.#onEnd();
    this.#controller?.abort(this.#lostError);
  }

  release(): void {
    if (!this.held) return;
    this.#released = true;
    this.#onEnd();
  }

  /** Throws if the lease cannot be extended, because it is not held. */
  check(): void {
    const act = `Cannot extend ${this.#what}`;
    if (this.#lostError) throw new LeaseLostError(`${act}: the lease is lost`, { cause: this.#lostError });
    if (this.#released) throw new NotHeldError(`${act}: it was released`);
  }
}
