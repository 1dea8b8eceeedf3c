/**
 * The moment at which listeners are closed. Connections that the system has accepted and the process has not are reset
 * then. An event loop accepts them once in a turn, so only after a short turn there are hardly any.
 *
 * @module
 */

/** A turn this short, in ms, is calm. */
const CALM = 0.3;
/** A connection that the system accepts during a turn is read in one of the next. */
const IN_A_ROW = 3;
/** The longest wait for one, in ms. */
const LONGEST = 250;

/** Resolves after some short turns of the event loop in a row, or after 250 ms. For run-times with node:http. */
export async function calmTurn(): Promise<void> {
  await nextTurn(); // the rest of this one accepts nothing any more
  const begun = performance.now();
  for (let last = begun, calm = 0; calm < IN_A_ROW && last - begun < LONGEST;) {
    await nextTurn();
    const now = performance.now();
    calm = now - last > CALM ? 0 : calm + 1;
    last = now;
  }
}

function nextTurn(): Promise<void> {
  const { setImmediate } = globalThis as unknown as { setImmediate(resolve: () => void): unknown };
  return new Promise((resolve) => void setImmediate(resolve));
}
