/**
 * The times of the Redis part, in milliseconds, each with the sentence that ties it to the others. Invariant: of the
 * commands by which the server hears of a waiter or a holder, two at least fit into its ttl.
 *
 * @module
 */

export { now } from "./clock.ts";

// Waiters.

/** Between two heartbeats of a waiter. */
export function heartbeatOf(ttl: number): number {
  return ttl / 3;
}

/**
 * By which a heartbeat may come later, so that many do not come at one moment; after a gap in messages, all ask at about the
 * same time. A waiter ends one ttl after it was heard of, so two more heartbeats, or one and its lateness, fit in.
 */
export function jitterOf(ttl: number, spread: boolean): number {
  return spread ? ttl / 6 : Math.min(ttl / 30, 100);
}

/** A waiter asks this much after the end of a life: clocks and timers are inexact, and asking before is asking twice. */
export const AFTER_LIFE_END = 5;

/** Between two questions because of the end of a life. */
export const LIFE_ENDS_APART = 200;

/** After a gap in its messages, a process has all its waiters ask within this, the first ones of each queue at once. */
export const GAP_SPREAD = 3000;

// Commands.

/** Longer than this no command is waited for, however long the ttl: the next attempt may use another connection. */
const LONGEST_COMMAND = 5000;

/** How long a command of a third of the ttl may take: two more fit in before a lease ends. */
export function commandLimit(ttl: number, least: number): number {
  return Math.min(Math.max(ttl / 3, least), LONGEST_COMMAND);
}

/** The least of these limits: one lost packet is sent again within 200 to 300; an acquire may wait for a connection. */
export const LEAST_LIMIT = { acquire: 1000, renew: 100, release: 250 } as const;

/** For a command that no call waits for in the queue, and for the first one of a process. */
export const SINGLE_COMMAND = LONGEST_COMMAND;

/** The only round trip of a call with `timeout: 0` may take as long as the shortest limit of an acquire. */
export const ONE_ATTEMPT = 1000;

/**
 * A command without an answer for less than this, which is the least limit of all, says nothing about the connection; the
 * call of one that takes longer is waiting, as observers see it.
 */
export const SILENCE = 100;

/** Before the attempt after this number of failures: from 25, which is a restarted connection, to a heartbeat's pace. */
export function backoff(failures: number): number {
  return Math.min(25 * 2 ** failures, 1000);
}

/** An acquire without a limit of its own tries for this long at least: shorter would not outlive one lost connection. */
export const LEAST_TRYING = 250;

/** A call that nothing else ends tries for this long, where there is no ttl: the default one. */
export const TRYING = 30_000;

/** The answer to a release is waited for this long at least, also when the lease ends sooner: two commands' time. */
export const LEAST_RELEASING = 2000;

// Keys.

/** The keys of a name are kept for this long after its last hold has ended. */
export const IDLE_KEPT = 60_000;

// Subscriptions.

/** One that is not there by then is a warning. */
export const DEAF_AFTER = 1000;

/** A subscription outlives its last listener by this: opening a connection for every short wait would cost more. */
export const LINGER = 1000;

/** One that ends as soon as it has begun is begun again no sooner than this. */
export const SUBSCRIPTIONS_APART = 500;

// Leases.

/** The ttl without the drift allowed between two clocks. */
export function trusted(ttl: number): number {
  return ttl - Math.min(ttl / 100 + 1, 1000);
}

/** Wall clocks count whole milliseconds; less than this is rounding. */
const CLOCK_ROUNDING = 5;

/** The wall clock and the monotonic one may differ by this before a lease is in doubt. */
export function clockTolerance(ttl: number): number {
  return Math.max(Math.min(ttl / 10, 1000), CLOCK_ROUNDING);
}

/** Whether a difference between the clocks is more than rounding. */
export function clocksMoved(difference: number): boolean {
  return Math.abs(difference) > CLOCK_ROUNDING;
}

/** Before a renewal that failed is tried again: 20 times within the ttl, within what a connection needs and a heartbeat. */
export function renewAgainAfter(ttl: number): number {
  return Math.min(Math.max(ttl / 20, 25), 1000);
}
