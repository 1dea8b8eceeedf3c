import type { StartQueue } from "../../lib/internal/start_queue.ts";
import { stateOf } from "../../lib/internal/state.ts";
import type { RateLimiter } from "../../lib/rate_limiter.ts";
import { assertSoundStartQueue } from "./internal/start_queue.ts";

export function assertSoundRateLimiter(rateLimiter: RateLimiter): void {
  assertSoundStartQueue(stateOf<{ queue: StartQueue }>(rateLimiter).queue);
}
