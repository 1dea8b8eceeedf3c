import type { WorkInFlight } from "../../../lib/shutdown/in_flight.ts";
import { assertRules } from "../rules.ts";

export function assertSoundInFlight(work: WorkInFlight): void {
  const entries = [...work];
  assertRules("work in flight", {
    "its size": entries.length === work.size,
    "links in both directions": entries.every((entry) => entry.previous?.next === entry),
  });
}
