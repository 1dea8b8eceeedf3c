import { stateOf } from "../../../lib/internal/state.ts";
import type { Pool } from "../../../lib/pool/pool.ts";
import type { PoolState } from "../../../lib/pool/state.ts";
import { assertSoundMap } from "./map.ts";
import { assertSoundPoolState } from "./state.ts";

export function assertSoundPool(pool: Pool): void {
  const state = stateOf<PoolState>(pool);
  assertSoundPoolState(state);
  for (const map of state.maps) assertSoundMap(map);
}
