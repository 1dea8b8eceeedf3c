/**
 * Cancellation: ending a wait by a signal, by a time-out, or by whichever comes first. This module does not depend on
 * queues. No other module listens to a signal, and only `timers.ts` sets timers.
 *
 * Waits that end together do so in three phases: all leave, then all are settled, then grants are made. So no grant
 * goes to a waiter that is about to leave, and counts are right when the first waiter is settled.
 *
 * - `await pause(ms, signal)` resolves after a time, or earlier when the signal aborts.
 * - `const cancellation = onCancel({ signal, timeout }, fn)` calls `fn` once, unless `cancellation.end()` was called
 *   before.
 * - `class … extends Cancellation` overrides the phases.
 *
 * Check for an aborted signal first: it never notifies again.
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

/** The signal and the time-out that end a wait. */
export interface CancelLimits extends Partial<WaitLimits> {
  /** Whether the time-out keeps the process alive. Default: true. */
  readonly keepsAlive?: boolean;
}

/** Served after waits have left. */
export interface Served {
  /** Called once after all waits that left together are settled, with the last reason. Must not throw. */
  afterLeave(reason: unknown): void;
}

/** One wait that can be cancelled, until it is cancelled or `end` is called. */
export abstract class Cancellation {
  readonly signal: AbortSignal | undefined;
  readonly timeout: number;
  /** Once set, no listener has this wait as a member, and its timer is not set. */
  isOver = false;
  readonly #listener: Listener | undefined;
  readonly #clearTimer: (() => void) | undefined;

  /** Starts to listen. Registers nothing if `signal.addEventListener` throws, and rethrows its error. */
  constructor({ signal, timeout = Infinity, keepsAlive }: CancelLimits) {
    this.signal = signal;
    this.timeout = timeout;
    this.#listener = signal && (listeners.get(signal) ?? new Listener(signal)).add(this);
    this.#clearTimer = timeout < Infinity
      ? startTimer(timeout, () => cancel([this], "timeout"), keepsAlive)
      : undefined;
  }

  /** Stops listening and clears the time-out. Idempotent. */
  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#clearTimer?.();
    this.#listener?.leave(this);
  }

  /** Whether its signal is aborted, even if it has not notified its listeners yet. */
  get isAborted(): boolean {
    try {
      return this.signal?.aborted === true;
    } catch {
      return false; // a signal of another request on Workers
    }
  }

  /** Cancels the wait for its signal, which may not have notified its listeners yet. The caller makes the grants. */
  abort(): void {
    this.end();
    this.leave();
    this.settle("aborted");
  }

  /** Phase one: leaves, without settling or granting. Returns the object to serve in phase three. */
  abstract leave(): Served | undefined;

  /** Phase two: settles, and returns the reason. Must not throw. */
  abstract settle(outcome: CancelOutcome): unknown;
}

/** All leave first, then all are settled, then grants are made. */
function cancel(cancelled: Iterable<Cancellation>, outcome: CancelOutcome): void {
  const all = [...cancelled].filter(({ isOver }) => !isOver); // a timer of a removed clock may not have been cleared
  step(() => {
    for (const one of all) one.end();
    const served = all.map((one) => one.leave());
    const reasons = new Map(all.map((one, i) => [served[i], one.settle(outcome)]));
    for (const [one, reason] of reasons) one?.afterLeave(reason);
  });
}

/** The listeners of signals with waits. */
const listeners = /* @__PURE__ */ new WeakMap<AbortSignal, Listener>();

/** The waits with one signal. They share a listener, because adding one for each wait would cost O(n). */
class Listener extends Set<Cancellation> {
  readonly #signal: AbortSignal;
  /** Ignores an abort event that was dispatched by hand. */
  readonly #onAbort = (): void => {
    if (this.#signal.aborted) cancel(this, "aborted");
  };

  constructor(signal: AbortSignal) {
    super();
    this.#signal = signal;
    signal.addEventListener("abort", this.#onAbort);
    listeners.set(signal, this);
  }

  leave(wait: Cancellation): void {
    this.delete(wait);
    if (this.size > 0) return;
    listeners.delete(this.#signal);
    try {
      this.#signal.removeEventListener("abort", this.#onAbort);
    } catch { /* on Workers a signal belongs to the request that made it, which has perhaps ended */ }
  }
}

/** Calls `fn` when the signal aborts or the time is over. `fn` must not throw. */
export function onCancel(limits: CancelLimits, fn: (outcome: CancelOutcome) => void): Cancellation {
  return new Callback(limits, fn);
}

/** Calls its function after all waits that left with it are settled. */
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

/**
 * Keeps a timer until the promise settles: Cloudflare cancels a request that waits only for another request.
 */
export function keepRequest<T>(promise: Promise<T>): Promise<T> {
  const end = startTimer(Infinity, () => {});
  promise.then(end, end);
  return promise;
}

/** The error of a wait that timed out. `holder` is the text that diagnostics add. */
export function timedOut(operation: string, timeout: number, holder = "", options?: { cause?: unknown }): TimeoutError {
  const rounded = +timeout.toFixed(1); // the remaining time of a deadline has many digits
  return new TimeoutError(`Cannot ${operation}: timed out after ${rounded} ms${holder}`, options);
}
