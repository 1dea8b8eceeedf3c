import type { Barrier } from "../../lib/barrier.ts";
import { stateOf } from "../../lib/internal/state.ts";
import type { WaitQueue } from "../../lib/internal/wait_queue.ts";
import { assertSoundWaitQueue } from "./internal/wait_queue.ts";

export function assertSoundBarrier(barrier: Barrier): void {
  assertSoundWaitQueue(stateOf<WaitQueue<number>>(barrier));
  const { parties, broken, waiting } = barrier;
  const isSound = waiting < parties && (!broken || waiting === 0);
  if (!isSound) throw new Error(`unsound barrier: ${waiting} of ${parties} wait`);
}
