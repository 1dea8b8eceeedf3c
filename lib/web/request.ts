/**
 * One request to the platform's lock manager, from the call to its grant or its end. The platform provides order and
 * crash safety; this module adds signals of any realm, time-outs and reports.
 *
 * @module
 */
import { callIn } from "../internal/call_in.ts";
import { type Cancellation, type CancelOutcome, onCancel, reasonOf, timedOut } from "../internal/cancellation.ts";
import { admit, checkFunction, promised, type WaitLimits } from "../internal/check.ts";
import { hook } from "../internal/hook.ts";
import { runtime } from "../internal/platform.ts";
import type { WaitOptions } from "../types.ts";
import { type WebGuard, WebHold } from "./guard.ts";
import type { WebLockSpec } from "./options.ts";

export async function acquire(spec: WebLockSpec, options: WaitOptions | undefined): Promise<WebGuard> {
  const limits = admit(options);
  const guard = await new Request(spec, limits, limits?.timeout === 0).promise;
  if (guard === undefined) throw timeOut(spec, 0);
  return guard;
}

export function tryAcquire(spec: WebLockSpec): Promise<WebGuard | undefined> {
  return new Request(spec, undefined, true).promise;
}

/** Calls `fn` while holding, and releases when it has ended, even with an error or after the lock was stolen. */
export async function runHolding<T>(
  acquire: () => Promise<WebGuard>,
  fn: (guard: WebGuard) => T | PromiseLike<T>,
): Promise<T> {
  checkFunction(fn, "fn");
  const guard = await acquire();
  try {
    return await callIn(guard, fn, guard);
  } finally {
    await guard.release(); // never rejects
  }
}

class Request {
  /** Resolves to undefined if the lock is not free and the call does not wait. */
  readonly promise: Promise<WebGuard | undefined>;
  // Once over, the request is granted, refused or cancelled for good: a late grant is given back.
  #isOver = false;
  #resolve!: (guard: WebGuard | undefined) => void;
  #reject!: (reason: unknown) => void;
  #registration: Cancellation | undefined;
  readonly #spec: WebLockSpec;
  readonly #hold: WebHold;
  /** Withdraws the request from the platform's queue. */
  readonly #withdrawn = new AbortController();

  constructor(spec: WebLockSpec, limits: WaitLimits | undefined, isOnce: boolean) {
    this.#spec = spec;
    this.#hold = new WebHold(spec);
    if (hook !== undefined) hook.begin(this.#hold);
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#begin(limits, isOnce);
    });
  }

  #begin(limits: WaitLimits | undefined, isOnce: boolean): void {
    const { name, mode, locks } = this.#spec;
    if (limits !== undefined) {
      const timeout = isOnce ? Infinity : limits.timeout;
      this.#registration = onCancel({ ...limits, timeout }, (outcome) => this.#cancel(outcome, limits));
    }
    // The platform accepts only one of the two options, and only its own signals.
    const how = isOnce ? { mode, ifAvailable: true } as const : { mode, signal: this.#withdrawn.signal };
    promised(() => locks.request(name, how, (lock) => this.#onAnswer(lock)))
      .then(() => this.#hold.onEnd(), (error) => this.#onError(error));
    // Deno 2.9.6 queues a shared request with `ifAvailable` behind a waiting exclusive one, instead of refusing it.
    if (isOnce && runtime() === "deno") void this.#ifItWaits(() => this.#onAnswer(null));
    if (hook !== undefined && !isOnce) void this.#ifItWaits(() => this.#reportWait());
  }

  /**
   * The manager responds in order: if this query comes back before the request, and shows it in the queue, the request
   * waits.
   */
  async #ifItWaits(fn: () => void): Promise<void> {
    const { name, locks } = this.#spec;
    try {
      const { pending } = await locks.query?.() as { pending: readonly { name: unknown }[] };
      if (!pending.some((request) => request.name === name)) return;
    } catch {
      return; // a missing or faulty `query` must not end the request
    }
    if (!this.#isOver) fn();
  }

  #onAnswer(lock: unknown): Promise<void> | undefined {
    if (this.#isOver) return undefined;
    this.#finish();
    if (lock === null) {
      this.#resolve(undefined);
      return undefined;
    }
    const end = this.#hold.begin();
    this.#resolve(this.#hold);
    if (hook !== undefined) hook.grant(this.#spec, this.#hold, 1);
    return end;
  }

  /** For a held lock: it was stolen. For a waiting request: the platform has refused it. */
  #onError(error: unknown): void {
    if (this.#isOver) return this.#hold.onEnd(error);
    this.#fail(error, "error");
  }

  #cancel(outcome: CancelOutcome, { signal, timeout }: WaitLimits): void {
    this.#isOver = true; // first, because reading a foreign signal runs its code
    this.#fail(outcome === "timeout" ? timeOut(this.#spec, timeout) : reasonOf(signal!), outcome);
  }

  /** Ends the request without a grant. */
  #fail(reason: unknown, outcome: CancelOutcome | "error"): void {
    this.#finish();
    this.#withdrawn.abort();
    this.#reject(reason);
    hook?.giveUp(this.#spec, this.#hold, outcome, 1);
  }

  #finish(): void {
    this.#isOver = true;
    this.#registration?.end();
  }

  #reportWait(): void {
    if (hook === undefined) return;
    hook.wait(this.#spec, this.#hold, 1);
    const deadlock = hook.deadlockOf(this.#spec, this.#hold, this.#spec.operation);
    if (deadlock !== undefined) this.#fail(deadlock, "error");
  }
}

function timeOut(spec: WebLockSpec, timeout: number): Error {
  return timedOut(spec.operation, timeout, hook?.holderOf(spec));
}
