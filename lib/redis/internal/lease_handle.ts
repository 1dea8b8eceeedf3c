/**
 * The lease as its caller sees it; the hold behind it is a {@linkcode LeaseHold}. Invariant: `held` implies that the local deadline lies ahead and that the clocks are not
 * in doubt.
 *
 * @module
 */
import { promised } from "../../internal/check.ts";
import { show } from "../../internal/show.ts";
import { explain } from "../errors.ts";
import type { Lease } from "../lease.ts";
import { checkTtl } from "../options.ts";
import { verify } from "../scripts/verify.ts";
import { now } from "./clock.ts";
import { moment } from "./lease_deadline.ts";
import { extend } from "./lease_extension.ts";
import { type Grant, LeaseHold } from "./lease_hold.ts";
import { giveBack } from "./lease_release.ts";
import type { ResourceSpec } from "./resource_spec.ts";

export class LeaseHandle implements Lease {
  static readonly name = "Lease";

  readonly id: string;
  readonly fencingToken: number;
  readonly #spec: ResourceSpec;
  readonly #call: object;
  readonly #hold: LeaseHold;
  #release: Promise<boolean> | undefined;

  static {
    show(LeaseHandle, ["id", "held", "fencingToken"]);
  }

  constructor(spec: ResourceSpec, grant: Grant) {
    this.#spec = spec;
    this.id = grant.id;
    this.fencingToken = grant.fence;
    this.#call = grant.call;
    this.#hold = new LeaseHold(spec, grant);
  }

  /** The object by which the hook knows a lease's acquisition. */
  static callOf(lease: Lease): object {
    return lease instanceof LeaseHandle ? lease.#call : lease;
  }

  get held(): boolean {
    if (!this.#hold.isHeld()) return false;
    if (this.#hold.deadline.checkClocks()) return true;
    this.#hold.reschedule(); // to look at it now
    return false;
  }

  get signal(): AbortSignal {
    const { signal } = this.#hold.state;
    this.#hold.expire(now());
    return signal;
  }

  get expiresAt(): number {
    return this.#hold.deadline.expiresAt;
  }

  get ttl(): number {
    return this.#hold.ttl;
  }

  extend(ttl: number = this.ttl): Promise<void> {
    return promised(() => {
      checkTtl(ttl);
      return extend(this.#spec, this.#hold, ttl);
    });
  }

  async verify(): Promise<boolean> {
    const { key, renewalLimit, deadline } = this.#hold;
    if (!this.#hold.isHeld()) return false;
    const sent = moment();
    const { connection, family } = this.#spec;
    try {
      const answer = await connection.run(verify, [key], [family.code, this.id], renewalLimit) as unknown[];
      const [time = NaN, rest = NaN] = answer.map(Number);
      connection.sawTime(time);
      if (rest > 0) deadline.verify(sent, rest / 1000);
      else this.#hold.loseUnknown();
    } catch (error) {
      throw explain(`verify ${this.#spec.what}`, error);
    }
    this.#hold.reschedule();
    return this.#hold.isHeld();
  }

  release(): Promise<boolean> {
    return this.#release ??= this.#giveBack();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  async #giveBack(): Promise<boolean> {
    if (!this.#hold.isHeld()) return false;
    this.#hold.state.release();
    await this.#hold.slot.whenFree();
    return await giveBack(this.#spec, this.id, this.#hold.releaseOptions);
  }
}
