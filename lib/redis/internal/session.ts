/**
 * The session of a client: its link, its subscription and its leases. Invariant: one for each backend, whoever uses it.
 *
 * @module
 */
import { LeaseRenewer } from "./lease_renewer.ts";
import { Link } from "./connection.ts";
import { onceFor } from "./once.ts";
import type { Backend } from "../clients/backend.ts";
import { Push } from "./subscription.ts";

export class Session extends Link {
  readonly push: Push = new Push(this);
  readonly renewer: LeaseRenewer = new LeaseRenewer(this);
}

/** The session of a backend: one for all that use it. */
export const sessionOf: (backend: Backend) => Session = onceFor((backend) => new Session(backend));
