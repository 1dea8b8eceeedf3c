/**
 * Finds the moment to close a listener. Closing it resets connections that the system has accepted and the process has
 * not. Node takes one of them in each turn of its event loop, so after a turn without a new connection none was left
 * when the turn began. If that turn was brief, hardly any has come since. Deno and Bun take all connections in one
 * turn.
 *
 * @module
 */
import { currentProcess, runtime } from "../internal/platform.ts";
import { type ShutdownState, TURN } from "./shutdown_state.ts";

/** The longest wait, in ms: an overloaded server never has a turn without connections. */
const LONGEST = 250;
/** The longest wait on Node until the process has used STARVED ms of CPU time: if it gets little, it has few turns. */
const [LONGEST_STARVED, STARVED] = [2_000, 250];
/** Number of steps in which the idle time is waited, and their maximum number while no request arrives. */
const [STEPS, MOST_STEPS] = [10, 25];
/** Maximum duration of a brief turn in ms, with and without a timer. */
const BRIEF = { timer: 3 * TURN, immediate: 0.2 };
/** The same limit as a share of the wait so far, for machines too slow for brief turns. */
const SHARE = 1 / 25;

/**
 * Resolves after a brief turn of the event loop without arrivals, after 250 ms, or when the shutdown is forced. On Node
 * it takes up to 2 s while the process has used less than 250 ms of CPU time. So a busy server closes its listener in
 * time, and a server that waits for a processor empties its accept queue first. Holds back requests until
 * `state.resume()`.
 *
 * @param countArrivals Returns the number of connections, or requests, that came so far.
 * @param kind How to detect a turn. On a busy machine, a process that sleeps between turns gets one per time slice: too
 * few if each turn takes only one connection.
 */
export async function calmTurn(
  state: ShutdownState,
  countArrivals: () => number,
  kind: keyof typeof BRIEF = runtime() === "node" ? "immediate" : "timer",
): Promise<void> {
  state.holdBack();
  const [began, cpuTimeBefore] = [performance.now(), cpuTime()];
  const turn = kind === "timer" ? () => state.pause(TURN) : immediate;
  await state.pause(TURN); // this turn accepts no more connections
  if (kind === "timer" && countArrivals() !== 0) await passIdleTime(state);
  const isStarved = () => kind === "immediate" && cpuTime() - cpuTimeBefore < STARVED;
  let [now, isCalm] = [performance.now(), false];
  do {
    const [arrivalsBefore, turnBegan] = [countArrivals(), now];
    await turn();
    now = performance.now();
    isCalm = countArrivals() === arrivalsBefore && now - turnBegan <= Math.max(BRIEF[kind], (now - began) * SHARE);
  } while (!isCalm && now < began + (isStarved() ? LONGEST_STARVED : LONGEST) && !state.forced.aborted);
}

/**
 * Deno and Bun report a connection some time after the system has accepted it. In steps: on a busy machine each takes
 * longer, and so do clients. Deno.serve and Bun.serve also close connections without a request, so for them it takes up
 * to 250 ms until one arrives: the clients may be waiting for a processor.
 */
async function passIdleTime(state: ShutdownState): Promise<void> {
  const callsBefore = state.handlerCalls;
  const stepTime = Math.min(state.settings.idle, LONGEST) / STEPS;
  const maxSteps = callsBefore === 0 ? STEPS : Math.min(MOST_STEPS, LONGEST / stepTime);
  for (let i = 0; i < STEPS || (i < maxSteps && state.handlerCalls === callsBefore); i++) await state.pause(stepTime);
}

/**
 * The CPU time in ms that the process has used. Infinity if it is not known, so that the process seems to get enough.
 */
function cpuTime(): number {
  const { user, system } = currentProcess()?.cpuUsage?.() ?? { user: Infinity, system: 0 };
  return (user + system) / 1000;
}

export function immediate(): Promise<void> {
  const { setImmediate } = globalThis as unknown as { setImmediate(resolve: () => void): unknown };
  return new Promise((resolve) => void setImmediate(resolve));
}
