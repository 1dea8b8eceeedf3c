import type { PoolState } from "../../../lib/pool/state.ts";
import { assertSoundSlots } from "./slots.ts";

export function assertSoundPoolState(state: PoolState): void {
  const { slots, maps, controllers, joiners } = state;
  const isIdle = slots.active === 0 && slots.queue.size === 0 && maps.size === 0;
  const isSound = controllers.size <= slots.active && (joiners.size === 0 || !isIdle);
  if (!isSound) throw new Error(`unsound pool: ${controllers.size} signals for ${slots.active} calls`);
  assertSoundSlots(slots);
}
