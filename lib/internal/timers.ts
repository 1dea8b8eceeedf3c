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

/** The one in force when this module is loaded: as a rule that of the platform, which never throws. */
const firstClear = clearTimeout;

/**
 * While this is the global `setTimeout`, waits of one duration share a timer, as they do inside Node: Deno 2.9.6 takes
 * 2 µs to set and clear one. Undefined elsewhere.
 */
export const sharingSetTimeout: typeof setTimeout | undefined = currentProcess()?.versions?.deno
  ? setTimeout
  : undefined;
/**
 * The clock by which a wait with a shared timer is due: that of the platform, even under a fake clock. Where no timers
 * are shared, a wait is due when its own timer fires, and no clock is read.
 */
export const sharedClock: () => number = sharingSetTimeout ? performance.now.bind(performance) : () => 0;

/**
 * Calls `fn` after `timeout` ms, and again after the number of ms that it returns. `Infinity` sets a timer only on
 * Workers, to keep the request alive. Returns a function that clears the timer.
 */
export function startTimer(timeout: number, fn: () => number | void, keepsAlive: boolean): () => void {
  const { setTimeout: set, clearTimeout: clear } = globalThis;
  let id: unknown;
  const start = (rest: number) => {
    const delay = Math.min(Math.ceil(rest), LONGEST_DELAY);
    id = set(() => {
      id = undefined; // a clock may refuse to clear it now
      const next = rest > delay ? rest - delay : fn();
      if (next !== undefined) start(next);
    }, delay);
    if (!keepsAlive) (id as { unref?(): void }).unref?.(); // browsers have numbers here
  };
  start(timeout);
  return () => {
    if (clear === firstClear || clear === clearTimeout) clear(id as number); // one of a removed fake clock may throw
  };
}

/** The clock in force. The fake timers of Bun 1.4 do not replace the functions; only a mark reveals them. */
export function clockInForce(): unknown {
  return "clock" in setTimeout ? "fake" : setTimeout;
}

/**
 * Bun's own. Elsewhere it is the prototype's, and a first look at it costs Node 20 a quarter of the time of loading.
 */
const platformNow = /* @__PURE__ */ (() => currentProcess()?.versions?.bun ? performance.now : undefined)();

/** Whether `performance.now` is a fake one. */
export function isTimeReplaced(): boolean {
  return performance.now !== (platformNow ?? globalThis.Performance?.prototype.now);
}
