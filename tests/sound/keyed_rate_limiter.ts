import type { StartQueue } from "../../lib/internal/start_queue.ts";
import { stateOf } from "../../lib/internal/state.ts";
import type { Timer } from "../../lib/internal/timer.ts";
import type { KeyedRateLimiter } from "../../lib/keyed_rate_limiter.ts";
import { assertSoundStartQueue } from "./internal/start_queue.ts";

/** With more entries than this, idle keys are removed by a timer. */
const FEW = 64;

export function assertSoundKeyedRateLimiter<K>(keyedRateLimiter: KeyedRateLimiter<K>): void {
  const [entries, timer] = stateOf<[Map<K, StartQueue>, Timer]>(keyedRateLimiter);
  for (const starts of entries.values()) assertSoundStartQueue(starts);
  if (entries.size > FEW && timer.at === Infinity) throw new Error("unsound keys: no timer is set");
}
