/**
 * Finds waits that can never end. A wait is stuck if every holder in its way is a `run` that contains a stuck wait
 * itself.
 *
 * A holder that is not waiting may still release, so its waiters are not stuck. A pool in a pool, or locks nested in
 * one order, never count as a deadlock, however long they take.
 *
 * @module
 */
import { nameError, SyncError } from "../errors.ts";
import type { Resource } from "../internal/hook.ts";
import type { Acquisition, CallOrigin } from "./acquisition.ts";
import type { Registry } from "./registry.ts";

/** One `run` of a deadlock: it holds a resource, and waits for that or another resource. */
export interface StuckRun {
  readonly hold: Acquisition;
  readonly wait: Acquisition;
}

/** The runs of one cycle: each waits for the hold of the next run, the last for the hold of the first. */
export type Deadlock = readonly StuckRun[];

/**
 * A call waits for a hold of its own `run`, and no other release could grant it. Thrown only while a `watchdog` with
 * `self: "reject"` is on.
 */
export class DeadlockError extends SyncError {}
nameError(DeadlockError, "DeadlockError");

/** Finds each cycle among the waits that began by `until`, once. */
export function findDeadlocks(registry: Registry, until: number): Deadlock[] {
  const stuck = stuckWaits(registry, until); // each with the holds of the runs around it
  const waitInside = new Map<Acquisition, Acquisition>(); // for each hold, a wait inside its run
  for (const [wait, holds] of stuck) for (const hold of holds) if (!waitInside.has(hold)) waitInside.set(hold, wait);
  const visited = new Set<Acquisition>();
  return [...stuck.keys()].flatMap((start) => {
    const path: StuckRun[] = []; // each wait with the hold that it waits for
    let wait = start;
    while (!visited.has(wait)) {
      visited.add(wait);
      const selfHold = stuck.get(wait)!.find((hold) => hold.group === wait.group);
      const [oldest] = wait.group.holds;
      const hold = selfHold ?? oldest!; // every hold of the group is stuck
      path.push({ hold, wait });
      if (selfHold === undefined) wait = waitInside.get(hold)!;
    }
    const cycleStart = path.findIndex((step) => step.wait === wait);
    if (cycleStart < 0) return []; // it leads to a known cycle
    const cycle = path.slice(cycleStart);
    // Pairs each wait with the hold of its own run, for which the step before waits.
    return [cycle.map(({ wait }, i) => ({ wait, hold: cycle.at(i - 1)!.hold }))];
  });
}

/** Finds waits that can never end, each with the holds of the runs around it. */
function stuckWaits(registry: Registry, until: number): Map<Acquisition, Acquisition[]> {
  const stuck = new Map<Acquisition, Acquisition[]>();
  for (const { waits } of registry.groups.values()) {
    for (const wait of waits) {
      if (wait.since > until) break; // oldest first
      const holds = enclosingHolds(registry, wait.origin);
      if (holds.length > 0 && waitsForRelease(wait.resource)) stuck.set(wait, holds); // a candidate
    }
  }
  // Removes waits with a holder that may still release, until none is left: each removal may unblock another wait.
  for (let formerSize = -1; formerSize !== stuck.size;) {
    formerSize = stuck.size;
    const stuckHolds = new Set([...stuck.values()].flat());
    for (const wait of stuck.keys()) {
      const { holds } = wait.group;
      if (holds.size === 0 || [...holds].some((hold) => !stuckHolds.has(hold))) stuck.delete(wait);
    }
  }
  return stuck;
}

/**
 * Returns the hold for which a call of that origin would wait forever: its own run has it, and no other release could
 * grant the call first.
 */
export function ownHold(registry: Registry, resource: Resource, origin: CallOrigin): Acquisition | undefined {
  const group = registry.groupOf(resource);
  if (group === undefined || !waitsForRelease(resource)) return undefined;
  const ownHolds = enclosingHolds(registry, origin).filter((hold) => hold.group === group);
  // One exclusive side is enough. Otherwise any other holder may release, including holders in other processes.
  const blocking = isExclusive(resource) ? ownHolds[0] : ownHolds.find((hold) => isExclusive(hold.resource));
  return blocking ?? (!resource.isRemote && ownHolds.length === group.holds.size ? ownHolds[0] : undefined);
}

/** Whether its waiters wait for its holders. */
export function waitsForRelease(resource: Resource): boolean {
  return resource.waitsForRelease?.() ?? true;
}

function isExclusive({ isExclusive, unit = 1 }: Resource): boolean {
  return isExclusive ?? unit > 1; // a writer takes all permits at once
}

/** The holds of the runs around a call of that origin, the innermost first. */
function enclosingHolds(registry: Registry, origin: CallOrigin): Acquisition[] {
  const holds: Acquisition[] = [];
  for (let { run } = origin; run !== undefined; run = run.parent) {
    const hold = registry.holds.get(run.originId);
    if (hold !== undefined) holds.push(hold);
  }
  return holds;
}
