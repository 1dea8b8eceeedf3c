import { stateOf } from "../../../../lib/internal/state.ts";
import type { Timer } from "../../../../lib/internal/timer.ts";
import { LeaseHold } from "../../../../lib/redis/lease/lease_hold.ts";
import type { LeaseRenewer, RenewableLease } from "../../../../lib/redis/lease/lease_renewer.ts";
import { assertRules } from "../../rules.ts";
import { assertSoundHold } from "./lease_hold.ts";

export function assertSoundRenewer(renewer: LeaseRenewer): void {
  const [leases, timer] = stateOf<[leases: Set<RenewableLease>, timer: Timer]>(renewer);
  for (const lease of leases) if (lease instanceof LeaseHold) assertSoundHold(lease);
  assertRules("renewer", {
    "a lease is checked too late": timer.at <= Math.min(...[...leases].map(({ nextCheck }) => nextCheck)),
    "a timer without leases": leases.size > 0 || timer.at === Infinity,
  });
}
