/**
 * Timers of the platform. Invariant: each is set again and cleared by the clock that set it. Test frameworks replace
 * `setTimeout` and restore it while calls still wait.
 *
 * @module
 */
import { currentProcess, timersEndWithRequest } from "./platform.ts";

/**
 * The longest delay: setTimeout fires at once above 2^31 - 1. On Workers a tick a second keeps a waiting request alive.
 */
const LONGEST_DELAY = timersEndWithRequest ? 1000 : 2 ** 31 - 1;
/** Exceeds the error of a sum of times in ms, so that 100 ms from now does not round up to 101. */
const ROUNDING = 1e-6;

// The functions at the time of loading. Destructured, because browsers reject calls on another object.
const { setTimeout: firstSet, clearTimeout: firstClear } = globalThis;
const now: () => number = performance.now.bind(performance);

/**
 * Deno 2.9.6 takes 2 µs to set and clear a timer, so timers of one duration share a platform timer there, as they do
 * inside Node.
 */
const shares = currentProcess()?.versions?.deno !== undefined;
const lists = /* @__PURE__ */ new Map<number, TimerList>();

/**
 * Calls `fn` after `timeout` ms. `Infinity` sets a timer only on Workers, to keep the request alive. Returns a function
 * that clears the timer.
 */
export function startTimer(timeout: number, fn: () => void, keepsAlive = true): () => void {
  return shares && keepsAlive && setTimeout === firstSet ? share(timeout, fn) : setAlone(timeout, fn, keepsAlive);
}

function setAlone(timeout: number, fn: () => void, keepsAlive: boolean): () => void {
  const { setTimeout: set, clearTimeout: clear } = globalThis;
  let id: unknown;
  const start = (rest: number) => {
    const delay = Math.min(Math.max(0, Math.ceil(rest - ROUNDING)), LONGEST_DELAY);
    id = set(() => {
      id = undefined; // a clock may refuse to clear it now
      if (rest - delay > ROUNDING) start(rest - delay); // else rounded: a rest of less would be set again without end
      else fn();
    }, delay);
    if (!keepsAlive) (id as { unref?(): void }).unref?.(); // browsers have numbers here
  };
  start(timeout);
  return () => {
    if (clear === firstClear || clear === clearTimeout) clear(id as number); // that of a removed clock may throw
  };
}

interface SharedTimer {
  readonly due: number;
  readonly fn: () => void;
}

/** Timers of one duration, in the order in which they end. While there are any, a platform timer is set. */
class TimerList extends Set<SharedTimer> {
  readonly #timeout: number;
  #clear!: () => void;

  constructor(timeout: number) {
    super();
    this.#timeout = timeout;
    this.#start(timeout);
    lists.set(timeout, this);
  }

  #start(rest: number): void {
    this.#clear = setAlone(rest, () => this.#fire(), true);
  }

  #fire(): void {
    for (const timer of this) {
      const rest = timer.due - now();
      if (rest > ROUNDING) return this.#start(rest);
      this.leave(timer);
      timer.fn();
    }
  }

  leave(timer: SharedTimer): void {
    if (!this.delete(timer) || this.size > 0) return;
    this.#clear();
    lists.delete(this.#timeout);
  }
}

function share(timeout: number, fn: () => void): () => void {
  const timer = { due: now() + timeout, fn };
  const list = (lists.get(timeout) ?? new TimerList(timeout)).add(timer);
  return () => list.leave(timer);
}

/** The clock in force. The fake timers of Bun 1.4 do not replace the functions; only a mark reveals them. */
export function clockInForce(): unknown {
  return "clock" in setTimeout ? "fake" : setTimeout;
}
