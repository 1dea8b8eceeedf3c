/**
 * The arguments of the script that acquires, and the times of a waiter. Invariant: a waiter counts as alive for longer
 * than its longest pause, and for no longer than its ttl where that leaves room for a heartbeat a second.
 *
 * @module
 */
import { LIVENESS } from "../scripts/announce.ts";
import { HEARTBEAT, MARGIN } from "../scripts/queue.ts";
import type { ResourceSpec } from "./resource_spec.ts";
import type { NotifyMode } from "./subscription.ts";

/** Milliseconds between two heartbeats, at least. */
export function heartbeatOf(ttl: number): number {
  return Math.max(HEARTBEAT, ttl / 3);
}

/** Milliseconds for which a waiter counts as alive after it has asked; also the lease granted to one that has to ask. */
export function livenessOf(ttl: number): number {
  return Math.max(ttl, LIVENESS);
}

/** Milliseconds by which a heartbeat may come later than it could, so that many do not come at one moment. */
export function jitterOf(ttl: number, most: number): number {
  return Math.min(most, livenessOf(ttl) - MARGIN - heartbeatOf(ttl));
}

/**
 * The arguments, in the script's order.
 *
 * @param latest Server time in microseconds after which the command is refused.
 * @param place The caller's place in the queue; 0 for the end.
 */
export function acquireArguments(
  { settings: { ttl, retention, owner }, weight, limit, family }: ResourceSpec,
  id: string,
  latest: number,
  mode: NotifyMode,
  place: number,
): string[] {
  const args = [id, String(ttl), String(ttl + retention), String(latest), mode, String(place)];
  if (family.code === "w") args.push(owner ?? "", String(weight), String(limit));
  else if (owner !== undefined) args.push(owner);
  return args;
}
