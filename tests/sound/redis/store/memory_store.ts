import { stateOf } from "../../../../lib/internal/state.ts";
import type { MemoryData } from "../../../../lib/redis/store/memory_data.ts";
import type { MemoryName } from "../../../../lib/redis/store/memory_name.ts";
import type { Store } from "../../../../lib/redis/store/store.ts";
import { assertSoundMemoryName } from "./memory_name.ts";

/** Does nothing for a store on a server. */
export function assertSoundStore(store: Store): void {
  for (const name of stateOf<MemoryData<MemoryName> | undefined>(store)?.values() ?? []) assertSoundMemoryName(name);
}
