/**
 * Waits that can never end, because every holder of what they wait for is a `run` that contains such a wait itself.
 *
 * A holder that does anything else than wait may still release, so it clears all that wait for it: a pool in a pool, or
 * nested locks in one order, are no deadlock however long they take.
 *
 * @module
 */
import type { Entry, Group } from "./entry.ts";

/** One `run` of a deadlock: it holds one thing and waits for another, or for the same. */
export interface StuckRun {
  readonly hold: Entry;
  readonly wait: Entry;
}

/** The runs of one cycle: each waits for the next one's hold, the last for the first one's. */
export type Deadlock = readonly StuckRun[];

/** The acquisition of a guard or lease. */
type EntryOf = (call: object) => Entry | undefined;

/** All cycles among those waits that began by `until`, each once. */
export function findDeadlocks(groups: Iterable<Group>, entryOf: EntryOf, until: number): Deadlock[] {
  const stuck = stuckWaits(groups, entryOf, until);
  const inside = new Map<Entry, Entry>();
  for (const [wait, holds] of stuck) for (const hold of holds) if (!inside.has(hold)) inside.set(hold, wait);
  const found: Deadlock[] = [];
  const seen = new Set<Entry>();
  for (const wait of stuck.keys()) {
    if (seen.has(wait)) continue;
    const cycle = cycleFrom(wait, stuck, inside, seen);
    if (cycle !== undefined) found.push(cycle);
  }
  return found;
}

/** Waits that can never end, each with the holds of the runs around it. */
function stuckWaits(groups: Iterable<Group>, entryOf: EntryOf, until: number): Map<Entry, Entry[]> {
  const stuck = new Map<Entry, Entry[]>();
  for (const { waits } of groups) {
    for (const wait of waits) {
      if (wait.since > until) break; // the oldest come first
      const holds = runsAround(wait, entryOf);
      if (holds.length > 0) stuck.set(wait, holds);
    }
  }
  for (let before = -1; before !== stuck.size;) {
    before = stuck.size;
    const stuckHolds = new Set([...stuck.values()].flat());
    for (const wait of stuck.keys()) {
      const { holds } = wait.group;
      if (holds.size === 0 || [...holds].some((hold) => !stuckHolds.has(hold))) stuck.delete(wait);
    }
  }
  return stuck;
}

/** The holds of the runs that the wait is part of, the innermost first. */
function runsAround(wait: Entry, entryOf: EntryOf): Entry[] {
  const holds: Entry[] = [];
  for (let { frame } = wait.origin; frame !== undefined; frame = frame.parent) {
    const entry = entryOf(frame.call);
    if (entry?.state === "holds") holds.push(entry);
  }
  return holds;
}

/** The cycle that the wait leads to, if it is a new one. */
function cycleFrom(
  start: Entry,
  stuck: ReadonlyMap<Entry, readonly Entry[]>,
  inside: ReadonlyMap<Entry, Entry>,
  seen: Set<Entry>,
): Deadlock | undefined {
  const path: { wait: Entry; for: Entry }[] = [];
  let wait = start;
  while (!seen.has(wait)) {
    seen.add(wait);
    const own = stuck.get(wait)!.find((hold) => hold.group === wait.group);
    if (own !== undefined) return [{ hold: own, wait }];
    const [holder] = wait.group.holds;
    path.push({ wait, for: holder! });
    wait = inside.get(holder!)!;
  }
  const first = path.findIndex((step) => step.wait === wait);
  if (first < 0) return undefined; // it leads to a cycle that was found before
  const cycle = path.slice(first);
  return cycle.map(({ wait }, i) => ({ wait, hold: cycle.at(i - 1)!.for }));
}
