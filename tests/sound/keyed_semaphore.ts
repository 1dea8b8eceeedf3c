import type { Permits } from "../../lib/internal/permits.ts";
import { stateOf } from "../../lib/internal/state.ts";
import type { KeyedSemaphore } from "../../lib/keyed_semaphore.ts";
import { assertSoundPermits } from "./internal/permits.ts";

export function assertSoundKeyedSemaphore(keyedSemaphore: KeyedSemaphore<unknown>): void {
  for (const entry of stateOf<Map<unknown, Permits>>(keyedSemaphore).values()) {
    assertSoundPermits(entry);
    if (entry.value === entry.most) throw new Error("unsound keyed semaphore: an entry without a holder");
  }
}
