/**
 * The accept queue: connections that the system has accepted and the process has not. The system resets them when the
 * listener is closed. Node takes one connection from the queue in each turn of its event loop, so a turn without a new
 * connection implies that the queue was empty when the turn began; if the turn was brief, it hardly filled again.
 *
 * @module
 */

/** The longest wait, in ms: the queue of an overloaded server never empties. */
const LONGEST = 250;
/** The length of a brief turn, in ms: the shortest that counts, and a share of the wait, which grows on a slow server. */
const BRIEF = 0.2;
const SHARE = 1 / 25;

/**
 * Resolves when the accept queue is empty, or after 250 ms. For run-times with node:http.
 *
 * @param accepted Returns the number of connections that were accepted so far.
 */
export async function acceptQueueEmpty(accepted: () => number): Promise<void> {
  await nextTurn(); // the rest of this one accepts nothing any more
  const began = performance.now();
  for (let now = began, calm = false; !calm && now < began + LONGEST;) {
    const [before, turnBegan] = [accepted(), now];
    await nextTurn();
    now = performance.now();
    calm = accepted() === before && now - turnBegan <= Math.max(BRIEF, (now - began) * SHARE);
  }
}

function nextTurn(): Promise<void> {
  const { setImmediate } = globalThis as unknown as { setImmediate(resolve: () => void): unknown };
  return new Promise((resolve) => void setImmediate(resolve));
}
