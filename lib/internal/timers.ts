/**
 * Timers of the platform. Invariant: each belongs to the clock that set it. Test frameworks replace `setTimeout` and put
 * the real one back while calls still wait, so a timer is cleared by its own clock, and never by another one's numbers.
 *
 * @module
 */
import { runtime, timersEndWithRequest } from "./platform.ts";

/** The longest delay: setTimeout fires at once above 2^31 - 1. On Workers a tick a second keeps a waiting request alive. */
const LONGEST_DELAY = timersEndWithRequest ? 1000 : 2 ** 31 - 1;
/** More than the error of a sum of times in ms: 100 ms from now must not be counted as 101. */
export const ROUNDING = 1e-6;

/** A timer that is set. */
export interface RunningTimer {
  /** Whether the clock that set it is in force. If not, it may never fire. */
  readonly isInForce: boolean;
  /** Calling it again, or after the timer fired, does nothing. */
  clear(): void;
}

// When this module was loaded. Called without an object: browsers insist on it.
const { setTimeout: firstSet, clearTimeout: firstClear } = globalThis;
const now: () => number = performance.now.bind(performance);

const isDeno = runtime() === "deno";
const lists = /* @__PURE__ */ new Map<number, TimerList>();

/** Calls `fn` after `timeout` ms, which may be any number; Infinity is for Workers, where it only keeps the request. */
export function startTimer(timeout: number, fn: () => void, keepsAlive = true): RunningTimer {
  const isShared = isDeno && keepsAlive && setTimeout === firstSet && timeout <= LONGEST_DELAY;
  return isShared ? shared(timeout, fn) : new OwnTimer(timeout, fn, keepsAlive);
}

class OwnTimer implements RunningTimer {
  #rest: number;
  #id: unknown;
  readonly #fn: () => void;
  readonly #keepsAlive: boolean;
  readonly #set = setTimeout;
  readonly #clear = clearTimeout;

  constructor(timeout: number, fn: () => void, keepsAlive: boolean) {
    this.#rest = timeout;
    this.#fn = fn;
    this.#keepsAlive = keepsAlive;
    this.#start();
  }

  get isInForce(): boolean {
    return this.#set === setTimeout;
  }

  #start(): void {
    const delay = Math.min(Math.max(0, Math.ceil(this.#rest - ROUNDING)), LONGEST_DELAY);
    const set = this.#set;
    this.#id = set(() => {
      this.#rest -= delay;
      this.#id = undefined;
      if (this.#rest > ROUNDING) this.#start();
      else this.#fn();
    }, delay);
    if (!this.#keepsAlive) (this.#id as { unref?(): void }).unref?.(); // browsers have numbers here
  }

  clear(): void {
    const clear = this.#clear;
    const isKnown = clear === firstClear || clear === clearTimeout; // one of a clock that is gone may throw
    if (this.#id !== undefined && isKnown) clear(this.#id as number);
    this.#id = undefined;
  }
}

// Setting and clearing a timer takes 2 µs in Deno 2.9.6, so there those of the same duration share one. Node's do so anyway.

function shared(timeout: number, fn: () => void): RunningTimer {
  let list = lists.get(timeout);
  if (list === undefined) lists.set(timeout, list = new TimerList(timeout));
  return list.add(fn);
}

/** Timers of one duration, in the order in which they end. */
class TimerList {
  // Known exactly while it has entries; then its own timer is set, for #due, when the first entry ends or sooner
  #first: Entry | undefined = undefined;
  #last: Entry | undefined = undefined;
  #id: ReturnType<typeof setTimeout> | undefined;
  #due = 0;
  readonly #timeout: number;

  constructor(timeout: number) {
    this.#timeout = timeout;
  }

  add(fn: () => void): RunningTimer {
    const time = now();
    const entry = new Entry(this, time + this.#timeout, fn);
    entry.previous = this.#last;
    if (this.#last !== undefined) this.#last.next = entry;
    else {
      this.#first = entry;
      this.#start(time);
    }
    this.#last = entry;
    return entry;
  }

  remove(entry: Entry): void {
    const { previous, next } = entry;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    if (this.#first !== undefined) return;
    firstClear(this.#id);
    lists.delete(this.#timeout);
  }

  #start(time: number): void {
    this.#due = this.#first!.due;
    this.#id = firstSet(() => this.#fire(), Math.max(0, Math.ceil(this.#due - time - ROUNDING)));
  }

  #fire(): void {
    const time = Math.max(now(), this.#due); // a timer that fires is proof that its time is over
    for (let first = this.#first; first !== undefined && first.due <= time; first = this.#first) {
      first.clear();
      first.fn();
    }
    if (this.#first !== undefined) this.#start(time);
  }
}

class Entry implements RunningTimer {
  readonly #list: TimerList;
  #isSet = true;
  readonly due: number;
  readonly fn: () => void;
  previous: Entry | undefined = undefined;
  next: Entry | undefined = undefined;

  constructor(list: TimerList, due: number, fn: () => void) {
    this.#list = list;
    this.due = due;
    this.fn = fn;
  }

  get isInForce(): boolean {
    return setTimeout === firstSet;
  }

  clear(): void {
    if (!this.#isSet) return;
    this.#isSet = false;
    this.#list.remove(this);
  }
}
