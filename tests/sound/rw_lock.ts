import type { Permits } from "../../lib/internal/permits.ts";
import { stateOf } from "../../lib/internal/state.ts";
import { waitersOf } from "../../lib/internal/wait_queue.ts";
import type { RwLock } from "../../lib/rw_lock.ts";
import { assertSoundPermits } from "./internal/permits.ts";

export function assertSoundRwLock({ writer }: RwLock): void {
  const permits = stateOf<{ owner: Permits }>(writer).owner;
  assertSoundPermits(permits);
  const writers = waitersOf(permits.queue).filter(({ permits }) => permits > 1).length;
  if (writers !== writer.waiting) throw new Error(`unsound read-write lock: ${writers} writers wait`);
}
