import type { Condition } from "../../lib/condition.ts";
import { stateOf } from "../../lib/internal/state.ts";
import type { WaitQueue } from "../../lib/internal/wait_queue.ts";
import { assertSoundWaitQueue } from "./internal/wait_queue.ts";

export function assertSoundCondition(condition: Condition): void {
  assertSoundWaitQueue(stateOf<WaitQueue<void>>(condition));
}
