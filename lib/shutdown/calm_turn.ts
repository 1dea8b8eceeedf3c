/**
 * Finds the moment to close a listener. Closing it resets connections that the system has accepted and the process has
 * not. Node takes one of them in each turn of its event loop, so after a turn without a new connection none was left
 * when the turn began. If that turn was brief, hardly any has come since. Deno and Bun take all connections in one
 * turn.
 *
 * @module
 */
import { type ShutdownState, TURN } from "./shutdown_state.ts";

/** The longest wait, in ms: an overloaded server never has a turn without connections. */
const LONGEST = 250;
/**
 * A process short of CPU time has few turns in that time. It waits for at least this many turns, up to the limit: on
 * Node one for each connection of a full accept queue, whose default length is 511.
 */
const FEWEST_TURNS = { timer: 8, immediate: 512 };
const LONGEST_STARVED = 2_000;
/** Number of steps in which the minimum is waited. */
const STEPS = 10;
/** Maximum duration of a brief turn in ms, with and without a timer. */
const BRIEF = { timer: 3 * TURN, immediate: 0.2 };
/** The same limit as a share of the wait so far, for machines too slow for brief turns. */
const SHARE = 1 / 25;

/**
 * Resolves after a brief turn of the event loop without arrivals, after 250 ms (up to 2 s for a process short of CPU
 * time), or when the shutdown is forced. Holds back requests until release().
 *
 * @param arrived Returns the number of connections, or requests, that came so far.
 * @param kind How to detect a turn. On a busy machine, a process that sleeps between turns gets one per time slice: too
 * few if each turn takes only one connection.
 * @param atLeast Minimum wait in ms.
 */
export async function calmTurn(
  state: ShutdownState,
  arrived: () => number,
  kind: keyof typeof BRIEF,
  atLeast = 0,
): Promise<void> {
  state.hold();
  const turn = kind === "timer" ? () => state.pause(TURN) : immediate;
  await state.pause(TURN); // this turn accepts no more connections
  // In steps: on a busy machine each takes longer, and so do clients.
  const step = Math.min(atLeast, LONGEST) / STEPS;
  for (let i = 0; step > 0 && i < STEPS; i++) await state.pause(step);
  const began = performance.now();
  let [now, calm, turns] = [began, false, 0];
  const limit = () => began + (turns++ < FEWEST_TURNS[kind] ? LONGEST_STARVED : LONGEST);
  while (!calm && now < limit() && !state.forced.aborted) {
    const [before, turnBegan] = [arrived(), now];
    await turn();
    now = performance.now();
    calm = arrived() === before && now - turnBegan <= Math.max(BRIEF[kind], (now - began) * SHARE);
  }
}

function immediate(): Promise<void> {
  const { setImmediate } = globalThis as unknown as { setImmediate(resolve: () => void): unknown };
  return new Promise((resolve) => void setImmediate(resolve));
}
