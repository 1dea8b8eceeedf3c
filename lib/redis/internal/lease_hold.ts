/**
 * A hold as this process knows it and as the renewer sees it: its state, its deadline, and the slot for the command that
 * sets its end. Invariant: after `expire()` the state is held only if the local deadline lies ahead.
 *
 * @module
 */
import { hook } from "../../internal/hook.ts";
import { now } from "./clock.ts";
import { LeaseDeadline, type Moment } from "./lease_deadline.ts";
import type { RenewableLease } from "./lease_renewer.ts";
import { LeaseState } from "./lease_state.ts";
import { releaseInBackground, type ReleaseOptions } from "./release_by_id.ts";
import { RenewalSlot } from "./renewal_slot.ts";
import type { ResourceSpec } from "./resource_spec.ts";

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
export function limitOf(ttl: number): number {
  return Math.min(Math.max(ttl / 3, 100), 5000);
}

export class LeaseHold implements RenewableLease {
  readonly id: string;
  index: number = -1;
  readonly state: LeaseState;
  readonly deadline: LeaseDeadline;
  readonly slot: RenewalSlot = new RenewalSlot();
  /** The failure of the last command that sets the end; undefined after a success. */
  failure: unknown;
  readonly #spec: ResourceSpec;
  readonly #inFlightUntil: number;

  constructor(spec: ResourceSpec, grant: Grant) {
    const { connection, settings: { ttl, renew }, what, resource } = spec;
    this.id = grant.id;
    this.#spec = spec;
    this.#inFlightUntil = grant.inFlightUntil;
    this.deadline = new LeaseDeadline(ttl, renew, grant.deadline, grant.keptFor, grant.gap);
    this.state = new LeaseState(what, () => {
      connection.renewer.delete(this);
      if (hook !== undefined) hook.release(resource, grant.call);
    });
    connection.renewer.add(this);
  }

  /** Whether it is held now, as far as the monotonic clock can show. */
  isHeld(): boolean {
    return this.state.held && !this.expire(now());
  }

  /** Throws if it cannot be extended, because it is not held. */
  check(): void {
    this.expire(now());
    this.state.check();
  }

  /** Lets the renewer look at it again, after the time of its next look has changed. */
  reschedule(): void {
    if (this.state.held) this.#spec.connection.renewer.add(this);
  }

  get releaseOptions(): ReleaseOptions {
    const until = this.deadline.keptUntil;
    return { operation: `release ${this.#spec.what}`, until, inFlightUntil: this.#inFlightUntil };
  }

  // For the renewer.

  get key(): string {
    return this.#spec.keys[0];
  }

  get ttl(): number {
    return this.deadline.ttl;
  }

  get nextLook(): number {
    const { at, renewAt } = this.deadline;
    return this.slot.busy ? at : Math.min(renewAt, at);
  }

  get renewalLimit(): number {
    return limitOf(this.ttl);
  }

  isDue(time: number): boolean {
    this.deadline.checkClocks();
    // A little early as well, so that leases of about the same age are renewed by one command.
    return !this.slot.busy && time >= this.deadline.renewAt - this.ttl / 12;
  }

  beginRenewal(): void {
    this.slot.begin();
  }

  endRenewal(): void {
    this.slot.end();
  }

  expire(time: number): boolean {
    const { at, keptUntil } = this.deadline;
    if (!this.state.held || time < at) return this.state.lost;
    const { renew } = this.#spec.settings;
    const expired = `its ttl of ${this.ttl} ms is over, and it is not renewed (renew: false)`;
    this.lose(renew || this.failure !== undefined ? "it could not be renewed in time" : expired, this.failure);
    if (keptUntil > time) releaseInBackground(this.#spec, this.id, this.releaseOptions);
    return true;
  }

  pushRenewal(args: string[], ttl: number, exact: boolean): void {
    const { family, settings } = this.#spec;
    args.push(exact ? family.code.toUpperCase() : family.code, this.id, String(ttl), String(settings.retention));
  }

  renewed(sent: Moment): void {
    if (sent.at < this.deadline.setBy) return; // late, and a later command counts
    this.failure = undefined;
    if (this.state.held) this.deadline.confirm(sent, this.#spec.connection.serverTime(sent.at));
  }

  retryRenewal(error: unknown): void {
    this.failure = error;
    this.deadline.retry();
  }

  lose(reason: string, cause?: unknown): void {
    this.state.lose(reason, cause);
  }

  loseUnknown(): void {
    this.lose("Redis no longer knows this hold: its data is gone, or there is another holder now");
  }
}
