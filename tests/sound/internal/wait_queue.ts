import { type Waiter, waitersOf, type WaitQueue } from "../../../lib/internal/wait_queue.ts";

export function assertSoundWaitQueue<T, W extends Waiter<T>>(queue: WaitQueue<T, W>): void {
  const waiters = waitersOf(queue);
  const isLinked = waiters.every(({ queued, cancellation }, i) =>
    queued && (cancellation?.previous ?? waiters[i - 1]) === waiters[i - 1]
  );
  const isSound = isLinked && waiters.length === queue.size && (queue.size === 0 || !queue.closed);
  if (!isSound) throw new Error(`unsound queue: ${queue.size} counted, ${waiters.length} wait`);
}
