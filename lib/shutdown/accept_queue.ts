/**
 * The accept queue: connections that the system has accepted and the process has not. The system resets them when the
 * listener is closed. Node takes one connection from the queue in each turn of its event loop, so a turn without a new
 * connection implies that the queue was empty when the turn began; if the turn was brief, it hardly filled again.
 *
 * @module
 */

/** The longest wait, in ms: the queue of an overloaded server never empties. */
const LONGEST = 250;
/** ms that a brief turn may take. */
const BRIEF = 0.2;
/** The same as a share of the wait so far: on a slow server, no turn is brief. */
const SHARE = 1 / 25;

/** Arrivals that make a server busy: as many within {@linkcode RECENTLY}. */
const BUSY = 8;
/** In ms. */
const RECENTLY = 100;

/**
 * Counts connections, or requests where connections are not known. By the wall clock, since reading the monotonic one would
 * cost a small request to Deno.serve 4 % of its time; if that jumps, the shutdown waits for a tenth of a second in vain, or
 * does not wait.
 */
export class Arrivals {
  count = 0;
  /** When the last {@linkcode BUSY} arrived, in a ring. */
  readonly #times = Array<number>(BUSY).fill(-Infinity);

  add(): void {
    this.#times[this.count++ % BUSY] = Date.now();
  }

  /** When the last one came, by the wall clock. */
  get last(): number {
    return this.#times[(this.count + BUSY - 1) % BUSY]!;
  }

  /** Whether more are likely to be arriving at this moment. */
  isBusy(open = 0): boolean {
    return open >= BUSY || Math.abs(Date.now() - this.#times[this.count % BUSY]!) < RECENTLY;
  }
}

/**
 * Resolves when the accept queue is empty, after 250 ms, or when the shutdown is forced.
 *
 * @param accepted Returns the number of connections that were accepted so far; NaN counts as a new one.
 * @param nextTurn Resolves in the next turn of the event loop. Default: by setImmediate, for run-times with node:http.
 * @param brief ms that a brief turn may take.
 */
export async function acceptQueueEmpty(
  accepted: () => number,
  forced: AbortSignal,
  nextTurn: () => Promise<void> = immediate,
  brief = BRIEF,
): Promise<void> {
  await nextTurn(); // the rest of this one accepts nothing any more
  const began = performance.now();
  for (let now = began, calm = false; !calm && now < began + LONGEST && !forced.aborted;) {
    const [before, turnBegan] = [accepted(), now];
    await nextTurn();
    now = performance.now();
    calm = accepted() === before && now - turnBegan <= Math.max(brief, (now - began) * SHARE);
  }
}

function immediate(): Promise<void> {
  const { setImmediate } = globalThis as unknown as { setImmediate(resolve: () => void): unknown };
  return new Promise((resolve) => void setImmediate(resolve));
}
