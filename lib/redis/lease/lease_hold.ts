/**
 * A hold as this process knows it and as the renewer sees it. Invariants: it goes from held to lost or to released, once,
 * and never back; its signal is aborted exactly while it is lost; after `expire()` it is held only if its deadline lies
 * ahead; the commands that set its end run one at a time, as the answers of two could be taken in the wrong order.
 *
 * @module
 */
import { LeaseLostError, NotHeldError } from "../../errors.ts";
import { pause } from "../../internal/cancellation.ts";
import { hook } from "../../internal/hook.ts";
import { warn } from "../../internal/platform.ts";
import { explain, messageOf } from "../errors.ts";
import type { ResourceSpec } from "../resource_spec.ts";
import type { Store } from "../store/store.ts";
import { commandLimit, LEAST_LIMIT, now } from "../times.ts";
import { releaseInBackground, type ReleaseOptions } from "./background_release.ts";
import { type Grant, LeaseDeadline, type Moment, moment } from "./lease_deadline.ts";
import type { RenewableLease } from "./lease_renewer.ts";

/** How long one command that sets the end may take. */
function limitOf(ttl: number): number {
  return commandLimit(ttl, LEAST_LIMIT.renew);
}

/** Clients that have lost a lease. */
const warned = new WeakSet<Store>();

/** The first loss of a client is a warning: a program that does not look at `lease.signal` works on as if it held. */
function warnOfLoss(store: Store, { message, cause }: LeaseLostError): void {
  if (warned.has(store)) return;
  warned.add(store);
  const why = cause === undefined ? "" : ` (${messageOf(cause)})`;
  const words = `A lease was lost. ${message}${why}. Further losses of this client are in metrics and events alone`;
  warn(`${words}; see "Redis in trouble" in docs/operating.md.`, "INTERLOCK_LEASE_LOST");
}

export class LeaseHold implements RenewableLease {
  readonly spec: ResourceSpec;
  readonly grant: Grant;
  readonly deadline: LeaseDeadline;
  index: number = -1;
  /** The failure of the last command that sets the end; undefined after a success. */
  #failure: unknown;
  /** The client was closed while it was held. */
  wasCut = false;
  #released = false;
  #lostError: LeaseLostError | undefined;
  #controller: AbortController | undefined;
  /** Set while a command that sets the end is in flight. */
  #idle: Promise<void> | undefined;
  #becomeIdle: () => void = () => {};

  constructor(spec: ResourceSpec, grant: Grant) {
    this.spec = spec;
    this.grant = grant;
    this.deadline = new LeaseDeadline(spec.settings, grant);
    spec.client.renewer.add(this);
  }

  get id(): string {
    return this.grant.id;
  }

  get ttl(): number {
    return this.deadline.ttl;
  }

  // Held, lost, released.

  /** Whether it is held now, as far as the monotonic clock can show. */
  isHeld(): boolean {
    return !this.expire(now()) && !this.#released;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#lostError) this.#controller.abort(this.#lostError);
    }
    this.expire(now());
    return this.#controller.signal;
  }

  /** Throws if it cannot be extended, because it is not held. */
  #check(): void {
    this.expire(now());
    const act = `Cannot extend ${this.spec.what}`;
    const why = this.wasCut ? ", because the client was closed" : "";
    if (this.#lostError) throw new LeaseLostError(`${act}: the lease is lost${why}`, { cause: this.#lostError });
    if (this.#released) throw new NotHeldError(`${act}: it was released`);
  }

  #isOver(): boolean {
    return this.#released || this.#lostError !== undefined;
  }

  release(): void {
    this.#released = true;
    this.#ended(false);
  }

  close(): void {
    this.wasCut = !this.#isOver();
    this.#lose("the client was closed");
  }

  #lose(reason: string, cause?: unknown): void {
    if (this.#isOver()) return;
    const options = cause === undefined ? undefined : { cause };
    this.#lostError = new LeaseLostError(`Cannot keep ${this.spec.what}: ${reason}`, options);
    this.#ended(true);
    warnOfLoss(this.spec.client.store, this.#lostError);
    this.#controller?.abort(this.#lostError);
  }

  loseUnknown(): void {
    this.#lose("Redis no longer knows this hold: its data is gone, or there is another holder now");
  }

  #ended(isLost: boolean): void {
    this.spec.client.renewer.delete(this);
    if (hook !== undefined) hook.release(this.spec.resource, this.grant.call, isLost);
  }

  get releaseOptions(): ReleaseOptions {
    return { until: this.deadline.keptUntil, inFlightUntil: this.grant.inFlightUntil };
  }

  /** Asks the server whether it still keeps the hold, and loses it if not. */
  async verify(): Promise<void> {
    const { client: { store } } = this.spec;
    const sent = moment();
    const rest = await store.verify(this.spec, this.id, this.renewalLimit);
    if (rest > 0) this.deadline.verify(sent, rest);
    else this.loseUnknown();
    this.reschedule();
  }

  // Commands that set the end.

  /** Not while one is in flight. */
  begin(): void {
    this.#idle = new Promise((resolve) => this.#becomeIdle = resolve);
  }

  end(): void {
    this.#idle = undefined;
    this.#becomeIdle();
  }

  /** Resolves once none is in flight; one that has waited as well may have begun by then. */
  async whenIdle(): Promise<void> {
    while (this.#idle !== undefined) await this.#idle;
  }

  /** Resolves once the server has confirmed that the hold lasts for `ttl` milliseconds more. */
  async extend(ttl: number): Promise<void> {
    const { deadline } = this;
    this.#check();
    while (this.#idle !== undefined) await this.#idle;
    this.begin(); // in the same step: the next `await` would let another one begin as well
    try {
      // The first one notifies the waiters of the end, which may be earlier now.
      for (let own = false; !await this.#tryExtend(ttl, own); own = true) {
        await pause(Math.min(ttl / 20, deadline.ttl / 20, deadline.unansweredTtl / 20, 1000));
      }
    } finally {
      this.end();
      this.reschedule();
    }
  }

  /**
   * From its command on, the local deadline is no later than the new ttl allows.
   *
   * @returns Whether the new ttl is set, and stays so.
   */
  async #tryExtend(ttl: number, own: boolean): Promise<boolean> {
    this.#check();
    const { deadline, id, spec, spec: { client: { store }, clock, what } } = this;
    const sent = moment();
    // Trusts no more than the new ttl leaves.
    const least = Math.min(this.renewalLimit, limitOf(ttl));
    if (deadline.limit(sent.at, ttl, least)) this.reschedule();
    const limit = Math.min(least, Math.max(1, deadline.at - sent.at));
    const latest = clock.at(sent.at + limit);
    try {
      const known = await store.renew({ holds: [{ id, spec, ttl }], exact: true, own, latest }, limit);
      if (known === undefined) return false; // too late by the server's clock
      if (!known[0]) this.loseUnknown();
    } catch (error) {
      this.#failure = error;
      deadline.unanswered(ttl, latest);
      if (store.mayPass(error)) return false;
      throw explain(`extend ${what}`, error);
    }
    this.#check();
    this.#failure = undefined;
    return deadline.confirm(sent, clock.at(sent.at), ttl);
  }

  /** Lets the renewer look at it again, after the time of its next look has changed. */
  reschedule(): void {
    if (!this.#isOver()) this.spec.client.renewer.add(this);
  }

  // For the renewer.

  get nextLook(): number {
    const { at, renewAt } = this.deadline;
    return this.#idle === undefined ? Math.min(renewAt, at) : at;
  }

  get renewalLimit(): number {
    return limitOf(this.ttl);
  }

  isDue(time: number): boolean {
    this.deadline.checkClocks();
    // A little early as well, so that leases of about the same age are renewed by one command.
    return this.#idle === undefined && time >= this.deadline.renewAt - this.ttl / 12;
  }

  expire(time: number): boolean {
    const { at, keptUntil } = this.deadline;
    if (this.#isOver() || time < at) return this.#lostError !== undefined;
    const { renew } = this.spec.settings;
    const expired = `its ttl of ${this.ttl} ms is over, and it is not renewed (renew: ${renew || false})`;
    const isMeant = renew !== Infinity && this.#failure === undefined;
    this.#lose(isMeant ? expired : "it could not be renewed in time", this.#failure);
    if (keptUntil > time) void releaseInBackground(this.spec, this.id, this.releaseOptions);
    return true;
  }

  renewed(sent: Moment): void {
    if (sent.at < this.deadline.setBy) return; // late, and a later command counts
    this.#failure = undefined;
    if (!this.#isOver()) this.deadline.confirm(sent, this.spec.clock.at(sent.at));
  }

  retryRenewal(error: unknown): void {
    this.#failure = error;
    this.deadline.retry();
  }
}
