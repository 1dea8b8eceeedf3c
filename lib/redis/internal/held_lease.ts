/**
 * One hold. Invariants: held implies that the local deadline lies ahead and that the clocks are not in doubt; a lease
 * goes from held to lost or to released, once, and never back.
 *
 * @module
 */
import { hook } from "../../internal/hook.ts";
import { pause } from "../../internal/cancellation.ts";
import { promised } from "../../internal/check.ts";
import { LeaseLostError, NotHeldError } from "../../errors.ts";
import { explain } from "../errors.ts";
import { releaseInBackground, type ReleaseOptions } from "./release_by_id.ts";
import { LeaseDeadline, type Moment, moment } from "./lease_deadline.ts";
import { giveBack } from "./lease_release.ts";
import type { RenewableLease } from "./lease_renewer.ts";
import type { Lease } from "../lease.ts";
import { checkTtl } from "../options.ts";
import { RenewalSlot } from "./renewal_slot.ts";
import { renew } from "../scripts/renew.ts";
import { verify } from "../scripts/verify.ts";
import type { RedisConnection } from "./connection.ts";
import type { ResourceSpec } from "./resource_spec.ts";
import { now } from "./clock.ts";

export { trusted } from "./lease_deadline.ts";

/** A hold as the server has granted it. */
export interface Grant {
  readonly id: string;
  readonly fence: number;
  /** Local time of its end, drift taken off. */
  readonly deadline: number;
  /** The clocks' difference when the command was sent from which `deadline` is derived; see {@linkcode Moment}. */
  readonly gap: number;
  /** Server time until which a command of this id, whose answer never came, may still run. */
  readonly inFlightUntil: number;
  /** Milliseconds for which the server may keep it beyond the deadline. */
  readonly keptFor: number;
  /** The acquisition, as the hook knows it. */
  readonly call: object;
}

/** How long one command that sets the end may take: two more must fit in before the end. */
function limitOf(ttl: number): number {
  return Math.min(Math.max(ttl / 3, 100), 5000);
}

export class HeldLease implements Lease, RenewableLease {
  readonly id: string;
  readonly fencingToken: number;
  readonly #connection: RedisConnection;
  readonly #spec: ResourceSpec;
  readonly #deadline: LeaseDeadline;
  readonly #slot = new RenewalSlot();
  readonly #inFlightUntil: number;
  readonly #call: object;
  #state: "held" | "lost" | "released" = "held";
  #failure: unknown;
  #controller: AbortController | undefined;
  #lostError: LeaseLostError | undefined;
  #release: Promise<boolean> | undefined;

  constructor(connection: RedisConnection, spec: ResourceSpec, grant: Grant) {
    const { ttl, renew } = spec.settings;
    this.#connection = connection;
    this.#spec = spec;
    this.id = grant.id;
    this.fencingToken = grant.fence;
    this.#inFlightUntil = grant.inFlightUntil;
    this.#call = grant.call;
    this.#deadline = new LeaseDeadline(ttl, renew, grant.deadline, grant.keptFor, grant.gap);
    connection.renewer.add(this);
  }

  /** The object by which the hook knows a lease's acquisition. */
  static callOf(lease: Lease): object {
    return lease instanceof HeldLease ? lease.#call : lease;
  }

  get held(): boolean {
    if (this.#state !== "held" || this.expire(now())) return false;
    if (this.#deadline.checkClocks()) return true;
    this.#connection.renewer.add(this); // to look at it now
    return false;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#lostError) this.#controller.abort(this.#lostError);
    }
    this.expire(now());
    return this.#controller.signal;
  }

  get expiresAt(): number {
    return this.#deadline.expiresAt;
  }

  get ttl(): number {
    return this.#deadline.ttl;
  }

  extend(ttl: number = this.ttl): Promise<void> {
    return promised(() => {
      checkTtl(ttl);
      return this.#extend(ttl);
    });
  }

  async verify(): Promise<boolean> {
    if (this.#state !== "held" || this.expire(now())) return false;
    const sent = moment();
    const limit = this.renewalLimit;
    const args = [this.#spec.family.code, this.id];
    try {
      const answer = await this.#connection.run(verify, [this.key], args, limit) as unknown[];
      const [time = NaN, rest = NaN] = answer.map(Number);
      this.#connection.sawTime(time);
      if (rest > 0) this.#deadline.verify(sent, rest / 1000);
      else this.loseUnknown();
    } catch (error) {
      throw explain(`verify ${this.#spec.what}`, error);
    }
    if (this.#state !== "held") return false;
    this.#connection.renewer.add(this);
    return !this.expire(now());
  }

  release(): Promise<boolean> {
    return this.#release ??= this.#giveBack();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  // For the renewer.

  get key(): string {
    return this.#spec.keys[0];
  }

  get nextLook(): number {
    const { at, renewAt } = this.#deadline;
    return this.#slot.busy ? at : Math.min(renewAt, at);
  }

  get renewalLimit(): number {
    return limitOf(this.ttl);
  }

  isDue(time: number): boolean {
    this.#deadline.checkClocks();
    // A little early as well, so that leases of about the same age are renewed by one command.
    return !this.#slot.busy && time >= this.#deadline.renewAt - this.ttl / 12;
  }

  beginRenewal(): void {
    this.#slot.begin();
  }

  endRenewal(): void {
    this.#slot.end();
  }

  expire(time: number): boolean {
    const { at, keptUntil } = this.#deadline;
    if (this.#state !== "held" || time < at) return this.#state === "lost";
    const { renew } = this.#spec.settings;
    const expired = `its ttl of ${this.ttl} ms is over, and it is not renewed (renew: false)`;
    this.lose(renew || this.#failure !== undefined ? "it could not be renewed in time" : expired, this.#failure);
    if (keptUntil > time) releaseInBackground(this.#connection, this.#spec, this.id, this.#releaseOptions());
    return true;
  }

  pushRenewal(args: string[], ttl: number, exact: boolean): void {
    const { family, settings } = this.#spec;
    args.push(exact ? family.code.toUpperCase() : family.code, this.id, String(ttl), String(settings.retention));
  }

  renewed(sent: Moment): void {
    this.#failure = undefined;
    if (this.#state === "held") this.#deadline.confirm(sent, this.#connection.serverTime(sent.at));
  }

  retryRenewal(error: unknown): void {
    this.#failure = error;
    this.#deadline.retry();
  }

  loseUnknown(): void {
    this.lose("Redis no longer knows this hold: its data is gone, or there is another holder now");
  }

  lose(state: string, cause?: unknown): void {
    if (this.#state !== "held") return;
    this.#lostError = new LeaseLostError(
      `Cannot keep ${this.#spec.what}: ${state}`,
      cause === undefined ? undefined : { cause },
    );
    this.#endAs("lost");
    this.#controller?.abort(this.#lostError);
  }

  #endAs(state: "lost" | "released"): void {
    this.#state = state;
    this.#connection.renewer.delete(this);
    if (hook !== undefined) hook.release(this.#spec.resource, this.#call);
  }

  #check(): void {
    this.expire(now());
    if (this.#lostError) {
      throw new LeaseLostError(`Cannot extend ${this.#spec.what}: the lease is lost`, { cause: this.#lostError });
    }
    if (this.#state === "released") throw new NotHeldError(`Cannot extend ${this.#spec.what}: it was released`);
  }

  async #extend(ttl: number): Promise<void> {
    this.#check();
    await this.#slot.whenFree();
    this.#slot.begin();
    try {
      while (!await this.#tryExtend(ttl)) {
        await pause(Math.min(ttl / 20, this.ttl / 20, this.#deadline.unansweredTtl / 20, 1000));
      }
    } finally {
      this.#slot.end();
      if (this.#state === "held") this.#connection.renewer.add(this);
    }
  }

  async #tryExtend(ttl: number): Promise<boolean> {
    this.#check();
    const sent = moment();
    const least = Math.min(this.renewalLimit, limitOf(ttl));
    if (this.#deadline.limit(sent.at, ttl, least)) this.#connection.renewer.add(this);
    const limit = Math.min(least, Math.max(1, this.#deadline.at - sent.at));
    const latest = this.#connection.serverTime(sent.at + limit);
    const args = [String(latest)];
    this.pushRenewal(args, ttl, true);
    try {
      const answer = await this.#connection.run(renew, [this.key], args, limit) as unknown[];
      const [code = NaN, result = NaN] = answer.map(Number);
      this.#connection.sawTime(code === -2 ? result : code);
      if (code === -2) return false;
      if (result !== 1) this.loseUnknown();
    } catch (error) {
      this.#failure = error;
      this.#deadline.unanswered(ttl, latest);
      if (this.#connection.mayPass(error)) return false;
      throw explain(`extend ${this.#spec.what}`, error);
    }
    this.#check();
    this.#failure = undefined;
    return this.#deadline.confirm(sent, this.#connection.serverTime(sent.at), ttl);
  }

  async #giveBack(): Promise<boolean> {
    this.expire(now());
    if (this.#state !== "held") return false;
    this.#endAs("released");
    await this.#slot.whenFree();
    return await giveBack(this.#connection, this.#spec, this.id, this.#releaseOptions());
  }

  #releaseOptions(): ReleaseOptions {
    const until = this.#deadline.keptUntil;
    return { operation: `release ${this.#spec.what}`, until, inFlightUntil: this.#inFlightUntil };
  }
}
