/**
 * Timers of the platform. Invariant: each belongs to the clock that set it. Test frameworks replace `setTimeout` and put
 * the real one back while calls still wait, so a timer is set again and cleared by its own clock.
 *
 * @module
 */
import { currentProcess, timersEndWithRequest } from "./platform.ts";

/** The longest delay: setTimeout fires at once above 2^31 - 1. On Workers a tick a second keeps a waiting request alive. */
const LONGEST_DELAY = timersEndWithRequest ? 1000 : 2 ** 31 - 1;
/** More than the error of a sum of times in ms: 100 ms from now must not be counted as 101. */
export const ROUNDING = 1e-6;

// When this module was loaded. Called without an object: browsers insist on it.
const { setTimeout: firstSet, clearTimeout: firstClear } = globalThis;
const now: () => number = performance.now.bind(performance);

/**
 * By their durations, where those of one share a timer. Deno 2.9.6 takes 2 µs to set and clear one; Node shares its own in
 * this way.
 */
const lists = /* @__PURE__ */ new Map<number, TimerList>();
const shares = currentProcess()?.versions?.deno !== undefined;

/** Calls `fn` after `timeout` ms, which may be any number; Infinity only keeps a request on Workers. */
export function startTimer(timeout: number, fn: () => void, keepsAlive = true): RunningTimer {
  const isShared = shares && keepsAlive && setTimeout === firstSet;
  let list = isShared ? lists.get(timeout) : undefined;
  if (list === undefined) {
    list = new TimerList(timeout, keepsAlive);
    if (isShared) lists.set(timeout, list);
  }
  return new RunningTimer(list, fn);
}

/** A timer that is set. */
export class RunningTimer {
  readonly #list: TimerList;
  readonly due: number;
  readonly fn: () => void;

  constructor(list: TimerList, fn: () => void) {
    this.#list = list;
    this.fn = fn;
    this.due = list.add(this);
  }

  /** Whether the clock that set it is in force. If not, it may never fire. */
  get isInForce(): boolean {
    return this.#list.isInForce;
  }

  /** Calling it again, or after the timer fired, does nothing. */
  clear(): void {
    this.#list.delete(this);
  }
}

/** Timers of one duration, in the order in which they end. */
class TimerList {
  // While there are timers, one of the platform is set for #at, which is not after the first of them ends
  readonly #timers = new Set<RunningTimer>();
  readonly #timeout: number;
  readonly #keepsAlive: boolean;
  readonly #set = setTimeout;
  readonly #isMarked = isMarked();
  readonly #clear = clearTimeout;
  #id: unknown;
  #at = 0;

  constructor(timeout: number, keepsAlive: boolean) {
    this.#timeout = timeout;
    this.#keepsAlive = keepsAlive;
  }

  get isInForce(): boolean {
    return this.#set === setTimeout && this.#isMarked === isMarked();
  }

  /** Returns when it is due. */
  add(timer: RunningTimer): number {
    const time = now();
    const due = time + this.#timeout;
    if (this.#timers.size === 0) this.#start(due, time);
    this.#timers.add(timer);
    return due;
  }

  delete(timer: RunningTimer): void {
    if (!this.#timers.delete(timer) || this.#timers.size > 0) return;
    const clear = this.#clear;
    const isKnown = clear === firstClear || clear === clearTimeout; // one of a clock that is gone may throw
    if (isKnown && this.#id !== undefined) clear(this.#id as number);
    if (lists.get(this.#timeout) === this) lists.delete(this.#timeout);
  }

  #start(due: number, time: number): void {
    const set = this.#set;
    const delay = Math.min(Math.max(0, Math.ceil(due - time - ROUNDING)), LONGEST_DELAY);
    this.#at = time + delay;
    this.#id = set(() => this.#fire(), delay);
    if (!this.#keepsAlive) (this.#id as { unref?(): void }).unref?.(); // browsers have numbers here
  }

  #fire(): void {
    this.#id = undefined;
    const time = Math.max(now(), this.#at); // a timer that fires is proof that its time is over
    for (const timer of this.#timers) {
      if (timer.due - ROUNDING > time) return this.#start(timer.due, time);
      this.delete(timer);
      timer.fn();
    }
  }
}

/** The fake timers of Bun 1.4 replace no function; this mark is all that shows them. */
function isMarked(): boolean {
  return "clock" in setTimeout;
}
