import { stateOf } from "../../../../lib/internal/state.ts";
import type { Timer } from "../../../../lib/internal/timer.ts";
import type { MemoryName } from "../../../../lib/redis/store/memory_name.ts";
import type { AcquireRequest } from "../../../../lib/redis/store/store.ts";
import { assertRules } from "../../rules.ts";

type State = [
  holders: Map<string, { weight: number; ends: number }>,
  queue: Map<string, { request: AcquireRequest }>,
  used: number,
  timer: Timer,
];

export function assertSoundMemoryName(name: MemoryName): void {
  const [holders, queue, used, timer] = stateOf<State>(name);
  const [head] = queue.values();
  const holds = [...holders.values()];
  assertRules("name in memory", {
    "the permits in use": used === holds.reduce((sum, { weight }) => sum + weight, 0),
    "the head fits": head === undefined || used + head.request.spec.weight > head.request.spec.limit,
    "its timer": head === undefined ? timer.at === Infinity : timer.at <= Math.min(...holds.map(({ ends }) => ends)),
  });
}
