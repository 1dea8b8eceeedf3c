/**
 * The session of a client: its link, its subscription and its leases. Invariant: one for each backend, whoever uses it.
 *
 * @module
 */
import { Keeper } from "./_keeper.ts";
import { Link } from "./_link.ts";
import { onceFor } from "./_once.ts";
import type { Backend } from "./port.ts";
import { Push } from "./_push.ts";

export class Session extends Link {
  readonly push: Push = new Push(this);
  readonly keeper: Keeper = new Keeper(this);
}

/** The session of a backend: one for all that use it. */
export const sessionOf: (backend: Backend) => Session = onceFor((backend) => new Session(backend));
