import type { Mutex } from "../../lib/internal/mutex.ts";
import { stateOf } from "../../lib/internal/state.ts";
import type { KeyedMutex } from "../../lib/keyed_mutex.ts";
import { assertSoundMutex } from "./internal/mutex.ts";

export function assertSoundKeyedMutex(keyedMutex: KeyedMutex<unknown>): void {
  for (const entry of stateOf<Map<unknown, Mutex>>(keyedMutex).values()) {
    assertSoundMutex(entry);
    if (entry.holder === undefined) throw new Error("unsound keyed mutex: an entry without a holder");
  }
}
