/**
 * The lease that a caller gets; its state is in a {@linkcode LeaseHold}. Invariants: `held` implies that the local
 * deadline lies ahead and that the clocks agree; no member can be written.
 *
 * @module
 */
import { checkOwn } from "../../internal/check.ts";
import { ASYNC_DISPOSE, DISPOSE } from "../../internal/dispose.ts";
import { printAs } from "../../internal/show.ts";
import type { Lease } from "../lease.ts";
import { checkTtl } from "../options.ts";
import { type Grant, LeaseHold } from "./lease_hold.ts";

export class LeaseHandle implements Lease {
  readonly #hold: LeaseHold;
  #release: Promise<boolean> | undefined;

  static {
    printAs(LeaseHandle, "Lease", ["id", "held", "fencingToken"]);
  }

  constructor(grant: Grant) {
    this.#hold = new LeaseHold(grant);
  }

  get id(): string {
    return this.#hold.grant.id;
  }

  get fencingToken(): number {
    return this.#hold.grant.fence;
  }

  get held(): boolean {
    if (!this.#hold.isHeld()) return false;
    if (this.#hold.deadline.checkClocks()) return true;
    this.#hold.reschedule(); // checks it now
    return false;
  }

  get signal(): AbortSignal {
    return this.#hold.signal;
  }

  get expiresAt(): number {
    return this.#hold.deadline.expiresAt;
  }

  get ttl(): number {
    return this.#hold.deadline.ttl;
  }

  async extend(ttl: number = this.ttl): Promise<void> {
    checkTtl(ttl);
    await this.#hold.extend(ttl);
  }

  verify(): Promise<boolean> {
    return this.#hold.verify();
  }

  release(): Promise<boolean> {
    checkOwn(this, LeaseHandle);
    return this.#release ??= this.#hold.release();
  }

  async [ASYNC_DISPOSE](): Promise<void> {
    await this.release();
  }

  /**
   * Read by `using` without `await`, when the lease is already granted: it would be renewed until the process ends.
   * Not declared in {@linkcode Lease}, so that TypeScript refuses such a declaration.
   */
  get [DISPOSE](): never {
    this.release().catch(() => {}); // `release()` returns the same promise
    throw new TypeError("lease must be declared with await using, not with using");
  }
}
