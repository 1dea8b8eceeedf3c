import { stateOf } from "../../../../lib/internal/state.ts";
import type { Timer } from "../../../../lib/internal/timer.ts";
import type { ServerCall } from "../../../../lib/redis/call/server_call.ts";
import type { CallSpec } from "../../../../lib/redis/resource_spec.ts";
import { assertRules } from "../../rules.ts";

/** Of a call that waits. */
export function assertSoundCall<A, T>(call: ServerCall<CallSpec, A, T>): void {
  const [isAsking, timer] = stateOf<[isAsking: boolean, timer: Timer]>(call);
  assertRules(`call for ${call.spec.what}`, {
    "it has settled": !call.settled,
    "it waits without end": isAsking || timer.at < Infinity,
  });
}
