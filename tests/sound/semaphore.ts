import type { Permits } from "../../lib/internal/permits.ts";
import { stateOf } from "../../lib/internal/state.ts";
import type { Semaphore } from "../../lib/semaphore.ts";
import { assertSoundPermits } from "./internal/permits.ts";

export function assertSoundSemaphore(semaphore: Semaphore): void {
  assertSoundPermits(stateOf<{ owner: Permits }>(semaphore).owner);
}
