/**
 * The clock of rate limits in memory, in µs.
 *
 * @module
 */
import { now } from "../times.ts";

/** By which no real timer fires early. */
export const EARLY = 2000;

export function clock(): number {
  return Math.floor(now() * 1000);
}

export function micros(ms: number): number {
  return Math.ceil(ms * 1000);
}
