import type { Event } from "../../lib/event.ts";
import { stateOf } from "../../lib/internal/state.ts";
import type { WaitQueue } from "../../lib/internal/wait_queue.ts";
import { assertSoundWaitQueue } from "./internal/wait_queue.ts";

export function assertSoundEvent(event: Event): void {
  const { isSet, waiting } = event;
  const [queue, last, sharing] = stateOf<[WaitQueue<void>, last: Promise<void> | undefined, sharing: number]>(event);
  assertSoundWaitQueue(queue);
  const isSound = (!isSet || waiting === 0) && sharing >= 0 && (last === undefined || queue.size > 0) &&
    (sharing === 0 || queue.size > 0);
  if (!isSound) throw new Error(`unsound event: ${waiting} wait, ${sharing} of them share a promise`);
}
