/**
 * The moment to close a listener. The system resets connections that it has accepted and the process has not. Node takes one
 * of them in each turn of its event loop, so a turn without a new connection implies that there was none left when the turn
 * began; if the turn was brief, hardly one has come since.
 *
 * @module
 */
import { type ShutdownState, TURN } from "./shutdown_state.ts";

/** The longest wait, in ms: connections to an overloaded server never end. */
const LONGEST = 250;
/** ms that a brief turn may take. */
const BRIEF = 3 * TURN;
/** The same as a share of the wait so far: on a slow machine, no turn is brief. */
const SHARE = 1 / 25;

/**
 * Resolves after a brief turn of the event loop in which nothing came, after 250 ms, or when the shutdown is forced.
 *
 * @param arrived Returns the number of connections, or requests, that came so far.
 * @param atLeast ms to wait in any case.
 */
export async function calmTurn(state: ShutdownState, arrived: () => number, atLeast = 0): Promise<void> {
  await state.pause(Math.max(TURN, Math.min(atLeast, LONGEST))); // the rest of this turn accepts nothing any more
  const began = performance.now();
  for (let now = began, calm = false; !calm && now < began + LONGEST && !state.forced.aborted;) {
    const [before, turnBegan] = [arrived(), now];
    await state.pause(TURN);
    now = performance.now();
    calm = arrived() === before && now - turnBegan <= Math.max(BRIEF, (now - began) * SHARE);
  }
}
