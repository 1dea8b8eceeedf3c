/**
 * The arguments of the script that acquires, and the times of a waiter. Invariant: a waiter counts as alive for longer
 * than its longest pause, and for no longer than its ttl where that leaves room for a heartbeat a second.
 *
 * @module
 */
import { LIVENESS } from "../scripts/queue.ts";
import type { ResourceSpec } from "./resource_spec.ts";
import type { NotifyMode } from "./subscription.ts";

/** Milliseconds between two heartbeats, at least. */
export function heartbeatOf(ttl: number): number {
  return Math.max(1000, ttl / 3);
}

/** A pause may be longer by this to end with a lease rather than shortly before it. */
const STRETCH = 1000;

/** Milliseconds by which a heartbeat may be late, on its way or by a busy process, and the waiter still counts as alive. */
const MARGIN = 150;

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
  { settings: { ttl, retention, owner = "" }, weight, limit, family }: ResourceSpec,
  id: string,
  latest: number,
  mode: NotifyMode,
  place: number,
): string[] {
  const liveness = Math.ceil(livenessOf(ttl));
  // The first three ask 50 ms apart.
  const pause = Math.ceil(Math.min(heartbeatOf(ttl) + STRETCH, liveness - MARGIN - 100));
  const args = [id, ttl, retention, latest, mode, liveness, pause, place, owner].map(String);
  if (family.code === "w") args.push(String(weight), String(limit));
  return args;
}
