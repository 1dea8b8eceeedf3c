/**
 * One hold of a platform lock: waiting, held, then released or stolen for good.
 *
 * @module
 */
import { named } from "../internal/check.ts";
import { ASYNC_DISPOSE, DISPOSE } from "../internal/dispose.ts";
import { hook } from "../internal/hook.ts";
import { show } from "../internal/show.ts";
import { LeaseLostError } from "../errors.ts";
import type { Guard } from "../types.ts";
import type { WebLockSpec } from "./options.ts";

/** Proof of one hold, spent once. Another tab or worker can end the hold only by stealing the lock. */
export interface WebGuard extends Guard {
  /** Aborts with a {@linkcode LeaseLostError} when the lock is stolen, not when it is released. */
  readonly signal: AbortSignal;
  /** Gives the hold back. Idempotent. The promise resolves when the platform has released the lock; it never rejects. */
  release(): Promise<void>;
}

export class WebHold implements WebGuard {
  // #endHold is set exactly while the lock is held; the platform keeps the lock until it is called.
  #endHold: (() => void) | undefined;
  #end!: () => void;
  readonly #ended = new Promise<void>((resolve) => this.#end = resolve);
  readonly #lost = new AbortController();
  readonly #spec: WebLockSpec;

  static {
    show(WebHold, "Guard", ["held"]);
  }

  constructor(spec: WebLockSpec) {
    this.#spec = spec;
  }

  get held(): boolean {
    return this.#endHold !== undefined;
  }

  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  /** Begins the hold. The platform keeps the lock until the promise resolves. */
  begin(): Promise<void> {
    return new Promise((resolve) => this.#endHold = resolve);
  }

  release(): Promise<void> {
    this.#spend(false);
    return this.#ended;
  }

  /** Called when the platform has released the lock. An error without a release means that the lock was stolen. */
  onEnd(error?: unknown): void {
    if (this.#spend(true)) {
      const what = named("lock", this.#spec.name);
      this.#lost.abort(new LeaseLostError(`Cannot keep ${what}: it was stolen`, { cause: error }));
    }
    this.#end();
  }

  #spend(isLost: boolean): boolean {
    const endHold = this.#endHold;
    if (endHold === undefined) return false;
    this.#endHold = undefined;
    endHold();
    if (hook !== undefined) hook.release(this.#spec, this, isLost);
    return true;
  }

  [DISPOSE](): void {
    void this.release();
  }

  [ASYNC_DISPOSE](): Promise<void> {
    return this.release();
  }
}
