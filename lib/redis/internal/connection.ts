/**
 * The state shared by all users of one client: scripts, the subscription, and the renewal of leases. Invariant: one for each
 * backend.
 *
 * @module
 */
import type { Backend } from "../clients/backend.ts";
import type { Keys } from "../options.ts";
import { LeaseRenewer } from "./lease_renewer.ts";
import { onceFor } from "./once.ts";
import { ScriptRunner } from "./script_runner.ts";
import { Subscription } from "./subscription.ts";

let connections = 0;

export class RedisConnection extends ScriptRunner {
  readonly #number = ++connections;
  readonly subscription: Subscription = new Subscription(this);
  readonly renewer: LeaseRenewer = new LeaseRenewer(this);

  /** The same for everything that shares its state in Redis, for the diagnostics. */
  groupOf(keys: Keys): string {
    return `${this.#number} ${keys[0]}`;
  }
}

/** The one connection of a backend. */
export const connectionOf: (backend: Backend) => RedisConnection = onceFor((backend) => new RedisConnection(backend));
