import { stateOf } from "../../../../lib/internal/state.ts";
import type { LeaseHold } from "../../../../lib/redis/lease/lease_hold.ts";
import { now } from "../../../../lib/redis/times.ts";
import { assertRules } from "../../rules.ts";

/** Of a hold that is renewed. */
export function assertSoundHold(hold: LeaseHold): void {
  const [end, controller] = stateOf<[end: unknown, controller: AbortController | undefined]>(hold);
  assertRules(`lease of ${hold.spec.what}`, {
    "it is renewed although it has ended": end === undefined,
    "its signal": controller?.signal.aborted !== true,
    "it is trusted for longer than its ttl": hold.deadline.at <= now() + hold.deadline.ttl,
  });
}
