/**
 * Cancellation: ending a wait by a signal, by a time-out, or by whichever comes first. This module knows nothing of
 * queues, and no other module of the library listens to a signal or sets a timer.
 *
 * Any number of waits with one signal share one listener; any number of time-outs share one timer. Both are gone as soon
 * as no wait needs them. Waits that end together do so in three phases: all of them leave first, then they are settled,
 * then grants are made. So nothing is granted to a waiter that is about to leave, and code that runs in between finds all
 * of them gone.
 *
 * Usage, from the simplest to the most general:
 *
 * - `await pause(ms, signal)` resolves after a time, or earlier when the signal aborts.
 * - `const registration = onCancel({ signal, timeout }, fn)` calls `fn` once, unless `registration.end()` was called
 *   before.
 * - `class … implements Cancellable`, one for any number of waits, with a `CancelRegistration` for each.
 *
 * The options of a public method are read once, when the call is made, by `readWaitOptions` of `check.ts`; it returns
 * {@linkcode WaitLimits}. A signal that is already aborted has to be checked before: it never notifies again.
 *
 * @module
 */
import { TimeoutError } from "../errors.ts";
import { reasonOf, type WaitLimits } from "./check.ts";
import { throwUncaught } from "./platform.ts";
import { type Clock, type Timed, TimerRegistry } from "./timers.ts";

export { reasonOf } from "./check.ts";
export { isClockReadable, isClockReplaced } from "./timers.ts";

/** How a wait was cancelled. */
export type CancelOutcome = "timeout" | "aborted";

/** The signal and the time that end a wait. */
export interface CancelLimits extends Partial<WaitLimits> {
  /** Whether the time-out keeps the process alive. Default: true. */
  readonly keepsAlive?: boolean;
  /** The time-out of the whole call, where it waits several times; used in place of `timeout`. */
  readonly call?: CallClock | undefined;
}

/** Counts the time of one call for all of its waits. */
export interface CallClock extends Clock {
  /** The wait ends when the time is over. */
  add(wait: CancelRegistration): void;
}

/** The owner of registered waits: a queue, a pause, a lease. */
export interface Cancellable<R> {
  /**
   * Phase one: takes the wait of this registration out. Settles and grants nothing, and runs no code of the user. Does not
   * throw. Returns false where it was out already. Without it, there is nothing to leave.
   */
  leave?(registration: R, outcome: CancelOutcome): boolean;
  /** Phase two: settles and reports it. Does not throw. */
  settle?(registration: R, outcome: CancelOutcome): void;
  /** Phase three: called once after all that leave together are settled. Does not throw. */
  afterLeave(): void;
}

/** One wait. It is registered with its signal and its time-out from `begin` until it is cancelled or `end` is called. */
export class CancelRegistration implements Timed {
  readonly #target: Cancellable<CancelRegistration>;
  #signals: SignalRegistry | undefined;
  /** Whether it was cancelled or ended. */
  #isOver = false;
  clock: Clock | undefined = undefined;
  deadline: number = Infinity;
  order: number = 0;
  /** The waits with the same signal that were registered before and after it. */
  previousMember: CancelRegistration | undefined = undefined;
  nextMember: CancelRegistration | undefined = undefined;

  constructor(target: Cancellable<never>) {
    this.#target = target as Cancellable<CancelRegistration>;
  }

  /**
   * Throws what `signal.addEventListener` throws; nothing is registered then. May cancel at once, where a foreign signal
   * has aborted meanwhile.
   */
  begin({ signal, timeout = Infinity, call, keepsAlive = true }: CancelLimits): this {
    if (signal !== undefined) this.#signals = SignalRegistry.join(signal, this);
    if (call !== undefined) call.add(this);
    else if (timeout !== Infinity) TimerRegistry.inForce(keepsAlive, onDue).add(this, timeout);
    this.#signals?.onAbort(); // adding a listener runs a foreign signal's code, which may have aborted it
    return this;
  }

  /** Whether the clock of its time-out is gone: it will never be over. */
  get isStale(): boolean {
    return this.clock?.isInForce?.() === false;
  }

  get hasSignal(): boolean {
    return this.#signals !== undefined;
  }

  /** The reason of its signal. A foreign one may run code when it is asked. */
  get reason(): unknown {
    return this.#signals && reasonOf(this.#signals.signal);
  }

  /** Forgets signal and time-out. Calling it again does nothing. */
  end(): void {
    this.#isOver = true;
    const { clock } = this;
    this.clock = undefined;
    clock?.delete();
    const signals = this.#signals;
    this.#signals = undefined;
    signals?.leave(this);
  }

  /** Phase one. Returns whether it was still registered; then the other phases follow. */
  leave(outcome: CancelOutcome): boolean {
    return !this.#isOver && (this.#isOver = this.#target.leave?.(this, outcome) ?? true);
  }

  /** Phase two. Returns what phase three is called on. */
  settle(outcome: CancelOutcome): Cancellable<CancelRegistration> {
    try {
      this.#target.settle?.(this, outcome);
    } finally {
      this.end();
    }
    return this.#target;
  }

  /**
   * For a signal that is aborted but has not yet notified its listeners: a grant must not go to a cancelled waiter.
   * Phase three is left to the caller.
   */
  cancelIfAborted(): void {
    const signals = this.#signals;
    if (signals !== undefined && isAborted(signals.signal) && this.leave("aborted")) this.settle("aborted");
  }
}

/** Calls `fn`, which must not throw, when the signal aborts or the time is over. */
export function onCancel(limits: CancelLimits, fn: (outcome: CancelOutcome) => void): CancelRegistration {
  let cancelledBy: CancelOutcome;
  return new CancelRegistration({
    settle: (_, outcome) => {
      cancelledBy = outcome;
    },
    afterLeave: () => fn(cancelledBy),
  }).begin(limits);
}

/** Resolves after `ms` milliseconds, or as soon as the signal is aborted. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) resolve();
    else onCancel({ signal, timeout: ms }, () => resolve());
  });
}

/** The error for a wait that took too long. `holder` is what the diagnostics add. */
export function timedOut(operation: string, timeout: number, holder = "", options?: ErrorOptions): TimeoutError {
  const rounded = +timeout.toFixed(1); // the rest of a deadline has many digits
  return new TimeoutError(`Cannot ${operation}: timed out after ${rounded} ms${holder}`, options);
}

/** A foreign signal whose getter throws counts as not aborted. */
function isAborted(signal: AbortSignal): boolean {
  try {
    return signal.aborted;
  } catch {
    return false;
  }
}

function onDue(due: readonly Timed[]): void {
  cancelTogether(due as readonly CancelRegistration[], "timeout");
}

/** Removes all cancelled waiters first, then settles them, then lets grants be made. */
function cancelTogether(registrations: readonly CancelRegistration[], outcome: CancelOutcome): void {
  const targets = new Set<Cancellable<CancelRegistration>>();
  const left = registrations.filter((one) => one.leave(outcome));
  each(left, (registration) => targets.add(registration.settle(outcome)));
  each(targets, (target) => target.afterLeave());
}

/** No step should throw. If one does, the others are made as well, and the process hears of it. */
function each<T>(all: Iterable<T>, step: (one: T) => void): void {
  for (const one of all) {
    try {
      step(one);
    } catch (error) {
      throwUncaught(error);
    }
  }
}

const registries = /* @__PURE__ */ new WeakMap<AbortSignal, SignalRegistry>();

/** The waits with one signal. One listener serves them: adding one for each would cost O(n). */
class SignalRegistry {
  // The signal carries the listener exactly while there are members, from #first by `nextMember` to #last.
  readonly signal: AbortSignal;
  #first: CancelRegistration | undefined;
  #last: CancelRegistration | undefined;
  /** The listener: a function, since some polyfills take no objects. An event that was dispatched by hand aborts nothing. */
  readonly onAbort = (): void => {
    if (isAborted(this.signal)) cancelTogether(this.#members(), "aborted");
  };

  constructor(signal: AbortSignal) {
    this.signal = signal;
  }

  static join(signal: AbortSignal, member: CancelRegistration): SignalRegistry {
    let registry = registries.get(signal);
    if (registry === undefined) {
      registry = new SignalRegistry(signal);
      signal.addEventListener("abort", registry.onAbort);
      registries.set(signal, registry);
    }
    const last = registry.#last;
    member.previousMember = last;
    if (last === undefined) registry.#first = member;
    else last.nextMember = member;
    registry.#last = member;
    return registry;
  }

  leave(member: CancelRegistration): void {
    const { previousMember, nextMember } = member;
    if (previousMember === undefined) this.#first = nextMember;
    else previousMember.nextMember = nextMember;
    if (nextMember === undefined) this.#last = previousMember;
    else nextMember.previousMember = previousMember;
    member.previousMember = member.nextMember = undefined;
    if (this.#first !== undefined) return;
    registries.delete(this.signal);
    try {
      this.signal.removeEventListener("abort", this.onAbort);
    } catch { /* a foreign signal: the wait has ended all the same */ }
  }

  #members(): CancelRegistration[] {
    const members: CancelRegistration[] = [];
    for (let member = this.#first; member !== undefined; member = member.nextMember) members.push(member);
    return members;
  }
}
