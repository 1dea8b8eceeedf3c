import { stateOf } from "../../lib/internal/state.ts";
import type { WaitQueue } from "../../lib/internal/wait_queue.ts";
import type { SetEvent } from "../../lib/set_event.ts";
import { assertSoundWaitQueue } from "./internal/wait_queue.ts";

export function assertSoundSetEvent(setEvent: SetEvent<unknown>): void {
  assertSoundWaitQueue(stateOf<WaitQueue<void>>(setEvent));
  const { waiting, isSet } = setEvent;
  if (waiting > 0 && isSet) throw new Error(`unsound set event: ${waiting} wait for an empty set`);
}
