import { stateOf } from "../../../../lib/internal/state.ts";
import type { RateStore } from "../../../../lib/redis/rate/rate_store.ts";
import { sleepersOf } from "../../../../lib/redis/rate/start_call.ts";
import { assertSoundCall } from "../call/server_call.ts";
import { assertRules } from "../../rules.ts";

export function assertSoundSleepers(rates: RateStore): void {
  for (const sleepers of sleepersOf(rates).values()) {
    for (const call of sleepers) {
      assertSoundCall(call);
      const [, , turn] = stateOf<[unknown, unknown, turn: object | undefined]>(call);
      assertRules(`start of ${call.spec.what}`, { "it sleeps without a turn": turn !== undefined });
    }
    assertRules("sleepers", { "an empty set": sleepers.size > 0 });
  }
}
