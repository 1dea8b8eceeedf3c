/**
 * One hold of a platform lock: asked for, then held, then released or stolen for good. The platform provides order and
 * crash safety; this module adds signals of any realm, time-outs and reports.
 *
 * @module
 */
import { type CancelOutcome, type CancelWatch, onCancel, reasonOf, timeoutError } from "../internal/cancellation.ts";
import { admit, checkOwn, promiseTry, type WaitLimits, withName } from "../internal/check.ts";
import { ASYNC_DISPOSE, DISPOSE } from "../internal/dispose.ts";
import { hook } from "../internal/hook.ts";
import { runtime } from "../internal/platform.ts";
import { printAs } from "../internal/show.ts";
import { LeaseLostError } from "../errors.ts";
import type { Guard, WaitOptions } from "../types.ts";
import type { WebLockSpec } from "./options.ts";

/** Stands for one hold, and can release it once. Another tab or worker can end the hold only by stealing the lock. */
export interface WebGuard extends Guard {
  /** Aborts with a {@linkcode LeaseLostError} when the lock is stolen, not when it is released. */
  readonly signal: AbortSignal;
  /**
   * Gives the hold back. Idempotent. The promise resolves when the platform has released the lock; it never rejects.
   */
  release(): Promise<void>;
}

class WebHold implements WebGuard {
  // Once answered, the request is granted, refused or cancelled for good: a late grant is given back.
  #isAnswered = false;
  // #endHold is set exactly while the lock is held; the platform keeps the lock until it is called.
  #endHold: (() => void) | undefined;
  #resolveEnded!: () => void;
  /** Resolves when the platform has released the lock. */
  readonly #ended = new Promise<void>((resolve) => this.#resolveEnded = resolve);
  readonly #lost = new AbortController();
  /** Withdraws the request from the platform's queue. */
  readonly #withdrawn = new AbortController();
  #cancellation: CancelWatch | undefined;
  readonly #spec: WebLockSpec;
  readonly #resolve: (guard: WebGuard | undefined) => void;
  readonly #reject: (reason: unknown) => void;

  /** Asks for a hold. Resolves to undefined if the lock is not free, with a time-out of 0. */
  static request(spec: WebLockSpec, limits: WaitLimits | undefined): Promise<WebGuard | undefined> {
    return new Promise((resolve, reject) => new WebHold(spec, resolve, reject).#request(limits));
  }

  constructor(spec: WebLockSpec, resolve: (guard: WebGuard | undefined) => void, reject: (reason: unknown) => void) {
    this.#spec = spec;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  get held(): boolean {
    return this.#endHold !== undefined;
  }

  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  release(): Promise<void> {
    checkOwn(this, WebHold);
    this.#spend(false);
    return this.#ended;
  }

  [DISPOSE](): void {
    void this.release();
  }

  [ASYNC_DISPOSE](): Promise<void> {
    return this.release();
  }

  #request(limits: WaitLimits | undefined): void {
    hook?.begin(this);
    const { name, mode, locks } = this.#spec;
    const ifAvailable = limits?.timeout === 0;
    if (limits !== undefined) {
      // A request that never waits needs no timer; errors show the caller's time-out.
      const timeout = ifAvailable ? Infinity : limits.timeout;
      this.#cancellation = onCancel({ ...limits, timeout }, (outcome) => this.#cancel(outcome, limits));
    }
    // The platform accepts only one of the two options, and only its own signals.
    const requestOptions = ifAvailable ? { mode, ifAvailable } as const : { mode, signal: this.#withdrawn.signal };
    promiseTry(() => locks.request(name, requestOptions, (lock) => this.#onAnswer(lock)))
      .then(() => this.#onEnd(), (error) => this.#onError(error));
    // Deno 2.9.6 queues a shared request with `ifAvailable` behind a waiting exclusive one, instead of refusing it.
    if (ifAvailable && runtime() === "deno") void this.#whenWaiting(() => this.#onAnswer(null));
    if (hook !== undefined && !ifAvailable) void this.#whenWaiting(() => this.#reportWait());
  }

  /**
   * The manager responds in order: if this query comes back before the request, and shows it in the queue, the request
   * waits.
   */
  async #whenWaiting(fn: () => void): Promise<void> {
    const { name, locks } = this.#spec;
    try {
      const { pending } = await locks.query?.() as { pending: readonly { name: unknown }[] };
      if (!pending.some((request) => request.name === name)) return;
    } catch {
      return; // a missing or faulty `query` must not end the request
    }
    if (!this.#isAnswered) fn();
  }

  #onAnswer(lock: unknown): Promise<void> | undefined {
    if (this.#isAnswered) return undefined;
    this.#finish();
    if (lock === null) { // it was not free, with `ifAvailable`
      this.#resolve(undefined);
      return undefined;
    }
    const holdEnded = new Promise<void>((resolve) => this.#endHold = resolve);
    this.#resolve(this);
    hook?.grant(this.#spec, this, 1);
    return holdEnded;
  }

  /** For a held lock: it was stolen. For a waiting request: the platform has refused it. */
  #onError(error: unknown): void {
    if (this.#isAnswered) return this.#onEnd(error);
    this.#fail(error, "error");
  }

  #cancel(outcome: CancelOutcome, { signal, timeout }: WaitLimits): void {
    this.#isAnswered = true; // first, because reading a foreign signal runs its code
    this.#fail(outcome === "timeout" ? webTimeoutError(this.#spec, timeout) : reasonOf(signal!), outcome);
  }

  /** Ends the request without a grant. */
  #fail(reason: unknown, outcome: CancelOutcome | "error"): void {
    this.#finish();
    this.#withdrawn.abort();
    this.#reject(reason);
    hook?.giveUp(this.#spec, this, outcome, 1);
  }

  /** Ends the request: a later answer does not count. */
  #finish(): void {
    this.#isAnswered = true;
    this.#cancellation?.end();
  }

  #reportWait(): void {
    if (hook === undefined) return;
    hook.wait(this.#spec, this, 1);
    const deadlock = hook.deadlockErrorOf(this.#spec, this, this.#spec.operation);
    if (deadlock !== undefined) this.#fail(deadlock, "error");
  }

  /** Called when the platform has released the lock. An error without a release means that the lock was stolen. */
  #onEnd(error?: unknown): void {
    if (this.#spend(true)) {
      const lock = withName("lock", this.#spec.name);
      this.#lost.abort(new LeaseLostError(`Cannot keep ${lock}: it was stolen`, { cause: error }));
    }
    this.#resolveEnded();
  }

  /** Ends the hold. Returns whether it was still held. */
  #spend(isLost: boolean): boolean {
    const endHold = this.#endHold;
    if (endHold === undefined) return false;
    this.#endHold = undefined;
    endHold();
    hook?.release(this.#spec, this, isLost);
    return true;
  }
}
printAs(WebHold, "Guard", ["held"]);

/** Waits in the platform's queue. */
export async function acquire(spec: WebLockSpec, options: WaitOptions | undefined): Promise<WebGuard> {
  const guard = await WebHold.request(spec, admit(options));
  if (guard === undefined) throw webTimeoutError(spec, 0);
  return guard;
}

export function tryAcquire(spec: WebLockSpec): Promise<WebGuard | undefined> {
  return WebHold.request(spec, { signal: undefined, timeout: 0 });
}

function webTimeoutError(spec: WebLockSpec, timeout: number): Error {
  return timeoutError(spec.operation, timeout, hook?.holderText(spec));
}
