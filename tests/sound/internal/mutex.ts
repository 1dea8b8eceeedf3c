import type { Mutex } from "../../../lib/internal/mutex.ts";
import { assertSoundWaitQueue } from "./wait_queue.ts";

export function assertSoundMutex({ holder, queue }: Mutex): void {
  assertSoundWaitQueue(queue);
  if (queue.size > 0 && holder === undefined) {
    throw new Error(`unsound mutex: ${queue.size} wait, and there is no holder`);
  }
  if (holder !== undefined && !holder.held) throw new Error("unsound mutex: its holder does not hold");
}
