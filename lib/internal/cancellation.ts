/**
 * Cancellation: ending a wait by a signal, by a time-out, or by whichever comes first. This module knows nothing of
 * queues, and no other module of the library listens to a signal; `timers.ts` alone sets timers.
 *
 * Waits that end together do so in three phases: all of them leave first, then they are settled, then grants are made. So
 * nothing is granted to a waiter that is about to leave, and the counts are right when the first one is settled.
 *
 * - `await pause(ms, signal)` resolves after a time, or earlier when the signal aborts.
 * - `const cancellation = onCancel({ signal, timeout }, fn)` calls `fn` once, unless `cancellation.end()` was called before.
 * - `class … extends Cancellation` overrides the phases.
 *
 * A signal that is already aborted has to be checked before: it never notifies again.
 *
 * @module
 */
import { TimeoutError } from "../errors.ts";
import type { WaitLimits } from "./check.ts";
import { step } from "./hook.ts";
import { startTimer } from "./timers.ts";

export { reasonOf } from "./check.ts";

/** How a wait was cancelled. */
export type CancelOutcome = "timeout" | "aborted";

/** The signal and the time that end a wait. */
export interface CancelLimits extends Partial<WaitLimits> {
  /** Whether the time-out keeps the process alive. Default: true. */
  readonly keepsAlive?: boolean;
}

/** Served after waits have left. */
export interface Served {
  /** Called once after all that leave together are settled, with the reason of the last one. Must not throw. */
  afterLeave(reason: unknown): void;
}

/** One wait that can be cancelled, from `begin` until it is cancelled or `end` is called. */
export abstract class Cancellation {
  readonly signal: AbortSignal | undefined;
  readonly timeout: number;
  /** Set when it is over: then it is in no listener's set, and its timer is not set. */
  isOver = false;
  readonly #keepsAlive: boolean;
  #clearTimer: (() => void) | undefined = undefined;
  #listener: Listener | undefined = undefined;

  constructor({ signal, timeout = Infinity, keepsAlive = true }: CancelLimits) {
    this.signal = signal;
    this.timeout = timeout;
    this.#keepsAlive = keepsAlive;
  }

  /** Throws what `signal.addEventListener` throws; nothing is registered then. */
  begin(): this {
    if (this.signal !== undefined) this.#listener = Listener.join(this.signal, this);
    if (this.timeout < Infinity) {
      this.#clearTimer = startTimer(this.timeout, () => cancelTogether([this], "timeout"), this.#keepsAlive);
    }
    return this;
  }

  /** Forgets signal and time-out. Calling it again does nothing. */
  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#clearTimer?.();
    this.#listener?.leave(this);
  }

  /** Whether its signal is aborted, which may not have notified its listeners yet. */
  get isAborted(): boolean {
    try {
      return this.signal?.aborted === true;
    } catch {
      return false; // an error would leave a lock held
    }
  }

  /** Cancels it for its signal. Grants are left to the caller. */
  abort(): void {
    this.end();
    this.leave();
    this.settle("aborted");
  }

  /** Phase one: leaves. Settles and grants nothing. Returns what phase three is for. */
  abstract leave(): Served | undefined;

  /** Phase two: settles, and returns the reason. Must not throw. */
  abstract settle(outcome: CancelOutcome): unknown;
}

/** All leave first, then all are settled, then grants are made. */
function cancelTogether(cancelled: Iterable<Cancellation>, outcome: CancelOutcome): void {
  const all = [...cancelled].filter(({ isOver }) => !isOver); // a timer of a clock that is gone was not cleared
  step(() => {
    for (const one of all) one.end();
    const served = all.map((one) => one.leave());
    const reasons = new Map(all.map((one, i) => [served[i], one.settle(outcome)]));
    for (const [one, reason] of reasons) one?.afterLeave(reason);
  });
}

const listeners = /* @__PURE__ */ new WeakMap<AbortSignal, Listener>();

/** The waits with one signal. One listener serves them: adding one for each would cost O(n). */
class Listener {
  // The signal carries #onAbort exactly while there are members
  readonly #members = new Set<Cancellation>();
  readonly #signal: AbortSignal;
  /** An event that was dispatched by hand aborts nothing. */
  readonly #onAbort = (): void => {
    if (this.#signal.aborted) cancelTogether(this.#members, "aborted");
  };

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener("abort", this.#onAbort);
  }

  static join(signal: AbortSignal, member: Cancellation): Listener {
    let listener = listeners.get(signal);
    if (listener === undefined) listeners.set(signal, listener = new Listener(signal));
    listener.#members.add(member);
    return listener;
  }

  leave(member: Cancellation): void {
    this.#members.delete(member);
    if (this.#members.size > 0) return;
    listeners.delete(this.#signal);
    try {
      this.#signal.removeEventListener("abort", this.#onAbort);
    } catch { /* it ends all the same: an error would leave a lock held */ }
  }
}

/** Calls `fn`, which must not throw, when the signal aborts or the time is over. */
export function onCancel(limits: CancelLimits, fn: (outcome: CancelOutcome) => void): Cancellation {
  return new Callback(limits, fn).begin();
}

/** Calls its function after all that leave with it are settled. */
class Callback extends Cancellation implements Served {
  readonly #fn: (outcome: CancelOutcome) => void;
  #outcome: CancelOutcome = "timeout";

  constructor(limits: CancelLimits, fn: (outcome: CancelOutcome) => void) {
    super(limits);
    this.#fn = fn;
  }

  override leave(): Served {
    return this;
  }

  override settle(outcome: CancelOutcome): void {
    this.#outcome = outcome;
  }

  afterLeave(): void {
    this.#fn(this.#outcome);
  }
}

/** Resolves after `ms` milliseconds, or as soon as the signal is aborted. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) resolve();
    else onCancel({ signal, timeout: ms }, () => resolve());
  });
}

/** Cloudflare cancels a request that waits for nothing but another request: a timer keeps it until the promise settles. */
export function keepRequest<T>(promise: Promise<T>): Promise<T> {
  const end = startTimer(Infinity, () => {});
  promise.then(end, end);
  return promise;
}

/** The error for a wait that took too long. `holder` is what the diagnostics add. */
export function timedOut(operation: string, timeout: number, holder = "", options?: { cause?: unknown }): TimeoutError {
  const rounded = +timeout.toFixed(1); // the rest of a deadline has many digits
  return new TimeoutError(`Cannot ${operation}: timed out after ${rounded} ms${holder}`, options);
}
