import { quote } from "../../lib/internal/check.ts";
import { stateOf } from "../../lib/internal/state.ts";
import type { WaitQueue } from "../../lib/internal/wait_queue.ts";
import type { SingleFlight } from "../../lib/single_flight.ts";
import { assertSoundWaitQueue } from "./internal/wait_queue.ts";

interface Flight {
  readonly callers: WaitQueue<unknown>;
}

export function assertSoundSingleFlight(singleFlight: SingleFlight<unknown>): void {
  for (const [key, { callers }] of stateOf<Map<unknown, Flight>>(singleFlight)) {
    assertSoundWaitQueue(callers);
    if (callers.size === 0) throw new Error(`unsound flight ${quote(key)}`);
  }
}
