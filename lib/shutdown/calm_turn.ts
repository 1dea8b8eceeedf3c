/**
 * The moment to close a listener. The system resets connections that it has accepted and the process has not. Node takes one
 * of them in each turn of its event loop, so a turn without a new connection implies that there was none left when the turn
 * began; if the turn was brief, hardly one has come since. Deno and Bun take all of them in one turn.
 *
 * @module
 */
import { type ShutdownState, TURN } from "./shutdown_state.ts";

/** The longest wait, in ms: connections to an overloaded server never end. */
const LONGEST = 250;
/** A process that has to wait for a processor has few turns in that time. It waits for as many, and at most so long. */
const FEWEST_TURNS = { timer: 8, immediate: 64 };
const LONGEST_STARVED = 2_000;
/** ms that a brief turn may take, by a timer or without one. */
const BRIEF = { timer: 3 * TURN, immediate: 0.2 };
/** The same as a share of the wait so far: on a slow machine, no turn is brief. */
const SHARE = 1 / 25;

/**
 * Resolves after a brief turn of the event loop in which nothing came, after 250 ms, or when the shutdown is forced.
 *
 * @param arrived Returns the number of connections, or requests, that came so far.
 * @param kind How a turn is noticed. On a busy machine, a process that sleeps between two of them has one in each of
 * its time slices: too few where a turn takes one connection.
 * @param atLeast ms to wait in any case.
 */
export async function calmTurn(
  state: ShutdownState,
  arrived: () => number,
  kind: keyof typeof BRIEF,
  atLeast = 0,
): Promise<void> {
  const turn = kind === "timer" ? () => state.pause(TURN) : immediate;
  await state.pause(Math.max(TURN, Math.min(atLeast, LONGEST))); // the rest of this turn accepts nothing any more
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
