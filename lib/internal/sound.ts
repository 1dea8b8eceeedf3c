/**
 * The invariants of a queue, to be executed by tests. No bundle contains this.
 *
 * @module
 */
import type { WaitQueue } from "./wait_queue.ts";
import { nextOf, permitsOf } from "./waiter.ts";

/** Throws unless the invariants hold; for tests. */
export function assertSoundWaitQueue<T>(queue: WaitQueue<T>): void {
  const waiters = queue.waiters();
  const large = waiters.filter((waiter) => permitsOf(waiter) > 1).length;
  const isSound = waiters.length === queue.size && large === queue.large && (queue.size === 0 || !queue.closed) &&
    waiters.every((waiter) => nextOf(waiter) !== undefined);
  if (!isSound) throw new Error(`unsound queue: ${queue.size} counted, ${waiters.length} wait, ${queue.large} large`);
}
