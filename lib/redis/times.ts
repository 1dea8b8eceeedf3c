/**
 * The times of the Redis part in milliseconds, and how they relate. Invariant: at least two commands by which the
 * server hears of a waiter or a holder fit into its ttl.
 *
 * @module
 */

/** Milliseconds on the monotonic clock, which alone decides. */
export function now(): number {
  return performance.now();
}

/** A moment on both local clocks. */
export interface Moment {
  /** Milliseconds on the monotonic clock. */
  readonly at: number;
  /** Milliseconds by which the wall clock is ahead of the monotonic clock. */
  readonly wallAhead: number;
}

export function moment(): Moment {
  const at = now();
  return { at, wallAhead: Date.now() - at };
}

/**
 * The time at which a timer fires that was set for `at`. Rounding makes timers early, and test frameworks may replace
 * `setTimeout` but not `performance.now`: its set time has come.
 */
export function notBefore(at: number): number {
  return Math.max(now(), at);
}

// Waiters.

/**
 * Time to the next heartbeat of a waiter: a third of the ttl, and a random delay, which spreads those of many waiters.
 */
export function heartbeatOf(ttl: number): number {
  return ttl / 3 + Math.random() * Math.min(ttl / 30, 100);
}

/**
 * Delay between the end of a life and the command of a waiter: clocks and timers are inexact, and a command that comes
 * too early has to be repeated.
 */
export const AFTER_LIFE_END = 5;

/** Minimum time between two commands due to ends of lives. */
export const LIFE_ENDS_APART = 200;

/** Time within which all waiters of a process ask after a gap in messages; the first of each queue ask at once. */
export const GAP_SPREAD = 3000;

// Commands.

/**
 * Maximum wait for a command, however long the ttl: the next attempt may use another connection. Also the wait for a
 * command for which no queued call waits, and for the first confirmation of a subscription.
 */
export const LONGEST_COMMAND = 5000;

/** Time limit of a command, a third of the ttl: two more fit in before a lease ends. */
export function commandLimit(ttl: number, least: number): number {
  return Math.min(Math.max(ttl / 3, least), LONGEST_COMMAND);
}

/**
 * The minimum time limit of each command. A lost packet is sent again within 200 to 300 ms, and an acquire may wait for
 * a connection.
 */
export const LEAST_LIMIT = { acquire: 1000, renew: 100, release: 250 } as const;

/**
 * A shorter silence says nothing about the connection; it is the minimum of all limits. Observers see the call of a
 * longer command wait.
 */
export const SILENCE = 100;

/**
 * Delay before the attempt after this number of failures: from 25 ms, for a restarted connection, to the time between
 * heartbeats.
 */
export function backoff(failures: number): number {
  return Math.min(25 * 2 ** failures, 1000);
}

/** Minimum time for which an acquire without limits tries: enough to survive one lost connection. */
export const LEAST_TRYING = 250;

/** Time for which a call without limits and without a ttl tries: the default ttl. */
export const TRYING = 30_000;

/** Minimum wait for the answer to a release, even if the lease ends sooner: the time of two commands. */
export const LEAST_RELEASING = 2000;

// Keys.

/** Time for which the keys of a name are kept after its last hold. */
export const IDLE_KEPT = 60_000;

// Subscriptions.

/** Time after which a missing subscription causes a warning. */
export const UNSUBSCRIBED_AFTER = 1000;

/**
 * Time by which a subscription outlives its last listener: opening a connection for every short wait would cost more.
 */
export const LINGER = 1000;

/** After this time, a subscriber of @db/redis has noticed that it lost its connection together with the client. */
export const SUBSCRIBER_NOTICES = 500;

/** Minimum time from a subscription that failed to the next one. */
export const RESUBSCRIBE_AFTER = 500;

// Leases.

/** Time without a loss after which the next one is a warning again. */
export const LOSSES_APART = 600_000;

/** The ttl without the drift allowed between two clocks. */
export function trustedTime(ttl: number): number {
  return ttl - Math.min(ttl / 100 + 1, 1000);
}

/** Smaller differences between the clocks are rounding: wall clocks count whole milliseconds. */
export const CLOCK_ROUNDING = 5;

/** Difference between the wall clock and the monotonic clock above which a lease is in doubt. */
export function clockTolerance(ttl: number): number {
  return Math.max(Math.min(ttl / 10, 1000), CLOCK_ROUNDING);
}

/** Delay before a failed renewal is tried again: a 20th of the ttl, within bounds. */
export function renewAgainAfter(ttl: number): number {
  return Math.min(Math.max(ttl / 20, 25), 1000);
}
