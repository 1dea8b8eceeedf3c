/**
 * What the script that acquires is told. Invariant: who has to ask whether it was granted asks more often than its lease
 * would end.
 *
 * @module
 */
import type { Reach } from "./subscription.ts";
import type { Target } from "./resource_spec.ts";

/** Milliseconds between two heartbeats of a waiter, at least. */
export function beatOf({ settings: { ttl } }: Target): number {
  return Math.max(1000, ttl / 3);
}

/** Milliseconds of the lease that is handed to who has to ask whether it was: it must still run then. */
export function handedLease(target: Target, reach: Reach | "t"): number {
  const { ttl } = target.settings;
  return reach === "h" ? Math.max(ttl, Math.ceil(2.5 * beatOf(target))) : ttl;
}

/**
 * The arguments, in the script's order.
 *
 * @param latest Server time in microseconds after which the command is refused.
 * @param reach How the caller is told of a hand-over; "t" for one that does not wait.
 * @param seq The place in line that it has already; 0 for none.
 */
export function acquireArgs(target: Target, id: string, latest: number, reach: Reach | "t", seq: number): string[] {
  const { settings: { ttl, retention }, weight, limit, family } = target;
  const beat = beatOf(target);
  const args = [id, String(ttl), String(retention), String(latest), reach, String(Math.ceil(4 * beat))];
  args.push(String(handedLease(target, reach)), String(seq));
  if (family.code === "w") args.push(String(weight), String(limit));
  return args;
}
