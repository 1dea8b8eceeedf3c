/**
 * Calls of `extend()`: commands that set a new ttl, until the server confirms one. Invariants: from the first command on,
 * the local deadline is no later than the new ttl allows; no renewal is in flight meanwhile.
 *
 * @module
 */
import { pause } from "../../internal/cancellation.ts";
import { explain } from "../errors.ts";
import { moment } from "./lease_deadline.ts";
import { type LeaseHold, limitOf } from "./lease_hold.ts";

/** Resolves once the server has confirmed that the hold lasts for `ttl` milliseconds more. */
export async function extend(hold: LeaseHold, ttl: number): Promise<void> {
  const { deadline } = hold;
  hold.check();
  await hold.beginWhenIdle();
  try {
    // The first one notifies the waiters of the end, which may be earlier now.
    for (let own = false; !await attempt(hold, ttl, own); own = true) {
      await pause(Math.min(ttl / 20, deadline.ttl / 20, deadline.unansweredTtl / 20, 1000));
    }
  } finally {
    hold.end();
    hold.reschedule();
  }
}

/** Returns whether the new ttl is set, and stays so. */
async function attempt(hold: LeaseHold, ttl: number, own: boolean): Promise<boolean> {
  hold.check();
  const { deadline, id, spec: { client: { store }, clock, what } } = hold;
  const sent = moment();
  // Trusts no more than the new ttl leaves.
  const least = Math.min(hold.renewalLimit, limitOf(ttl));
  if (deadline.limit(sent.at, ttl, least)) hold.reschedule();
  const limit = Math.min(least, Math.max(1, deadline.at - sent.at));
  const latest = clock.at(sent.at + limit);
  try {
    const holds = [{ id, spec: hold.spec, ttl }];
    const known = await store.renew({ holds, exact: true, own, latest }, limit);
    if (known === undefined) return false; // too late by the server's clock
    if (!known[0]) hold.loseUnknown();
  } catch (error) {
    hold.failure = error;
    deadline.unanswered(ttl, latest);
    if (store.mayPass(error)) return false;
    throw explain(`extend ${what}`, error);
  }
  hold.check();
  hold.failure = undefined;
  return deadline.confirm(sent, clock.at(sent.at), ttl);
}
