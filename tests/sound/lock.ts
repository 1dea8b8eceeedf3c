import type { Mutex } from "../../lib/internal/mutex.ts";
import { stateOf } from "../../lib/internal/state.ts";
import type { Lock } from "../../lib/lock.ts";
import { assertSoundMutex } from "./internal/mutex.ts";

export function assertSoundLock(lock: Lock): void {
  assertSoundMutex(stateOf<{ owner: Mutex }>(lock).owner);
}
