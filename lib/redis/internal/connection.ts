/**
 * What all users of one client share: scripts, the subscription, and the renewal of leases. Invariant: one for each
 * backend.
 *
 * @module
 */
import type { Backend } from "../clients/backend.ts";
import { LeaseRenewer } from "./lease_renewer.ts";
import { onceFor } from "./once.ts";
import { ScriptRunner } from "./script_runner.ts";
import { Subscription } from "./subscription.ts";

export class RedisConnection extends ScriptRunner {
  readonly subscription: Subscription = new Subscription(this);
  readonly renewer: LeaseRenewer = new LeaseRenewer(this);
}

/** The connection of a backend: one, whatever uses it. */
export const connectionOf: (backend: Backend) => RedisConnection = onceFor((backend) => new RedisConnection(backend));
