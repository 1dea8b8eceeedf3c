/**
 * One hold. Invariants: held implies that the local deadline lies ahead, and that deadline is never later than the end
 * that the server keeps, nor than any end that a command under way, or without an answer, may set; it goes from held to
 * lost or to released, once, and never back.
 *
 * @module
 */
import { promised } from "../../internal/check.ts";
import { LeaseLostError, NotHeldError } from "../../errors.ts";
import { explain } from "../errors.ts";
import { forget, forgetInBackground, type ForgetOptions } from "./release_by_id.ts";
import type { Kept } from "./lease_renewer.ts";
import type { Lease } from "../lease.ts";
import { checkTtl } from "../options.ts";
import { renew } from "../scripts/mutex.ts";
import type { Session } from "./session.ts";
import type { Target } from "./resource_spec.ts";
import { now, sleep } from "./clock.ts";

/** Two clocks may run a little differently: so much is taken off every lease on this side. */
export function trusted(ttl: number): number {
  return ttl - Math.min(ttl / 100 + 1, 1000);
}

/** How long one command that renews may take: two more must fit in before the end. */
function limitOf(ttl: number): number {
  return Math.min(Math.max(ttl / 3, 100), 5000);
}

export class HeldLease implements Lease, Kept {
  readonly id: string;
  readonly fencingToken: number;
  readonly #session: Session;
  readonly #target: Target;
  #state: "held" | "lost" | "released" = "held";
  #ttl: number;
  #deadline = 0;
  /** Local time until when the server may keep it: later than the deadline where a shorter time was asked for. */
  #keptUntil = 0;
  #expiresAt = 0;
  #renewAt = Infinity;
  /** A renewal or an `extend()` that is under way, one at a time, and how its end is told. */
  #renewal: Promise<void> | undefined;
  #renewed = () => {};
  #failure: unknown;
  #controller: AbortController | undefined;
  #lostError: LeaseLostError | undefined;
  #release: Promise<boolean> | undefined;
  /** Server time until when a command of this id, whose answer never came, may still run. */
  readonly #stray: number;
  /** The shortest time of an `extend()` without an answer, and server time until when it may still be set. */
  #strayTtl = Infinity;
  #strayUntil = 0;

  /** @param keptFor Milliseconds for which the server may keep it beyond the deadline. */
  constructor(
    session: Session,
    target: Target,
    id: string,
    fence: number,
    deadline: number,
    stray: number,
    keptFor: number,
  ) {
    this.#session = session;
    this.#target = target;
    this.id = id;
    this.fencingToken = fence;
    this.#ttl = target.settings.ttl;
    this.#stray = stray;
    this.#keptUntil = deadline + keptFor;
    this.#setDeadline(deadline, this.#ttl);
    session.keeper.add(this);
  }

  get held(): boolean {
    return this.#state === "held" && !this.outOfTime(now());
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#lostError) this.#controller.abort(this.#lostError);
    }
    if (this.#state === "held") this.outOfTime(now());
    return this.#controller.signal;
  }

  get expiresAt(): number {
    return this.#expiresAt;
  }

  get ttl(): number {
    return this.#ttl;
  }

  extend(ttl: number = this.#ttl): Promise<void> {
    return promised(() => {
      checkTtl(ttl);
      return this.#extend(ttl);
    });
  }

  release(): Promise<boolean> {
    return this.#release ??= this.#giveBack();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  // What the keeper uses.

  get key(): string {
    return this.#target.keys[0];
  }

  /** When the keeper has to look at it again. */
  get nextLook(): number {
    return this.#renewal === undefined ? Math.min(this.#renewAt, this.#deadline) : this.#deadline;
  }

  get renewalLimit(): number {
    return limitOf(this.#ttl);
  }

  /** Due a little early as well, so that leases of about the same age are renewed by one command. */
  isDue(time: number): boolean {
    return this.#renewal === undefined && time >= this.#renewAt - this.#ttl / 12;
  }

  beginRenewal(): void {
    this.#renewal = new Promise((resolve) => this.#renewed = resolve);
  }

  endRenewal(): void {
    this.#renewal = undefined;
    this.#renewed();
  }

  /** Ends the lease if its time is over, before anybody can act as if it was not. */
  outOfTime(time: number): boolean {
    if (time < this.#deadline) return false;
    this.lose("it could not be renewed in time", this.#failure);
    if (this.#keptUntil > time) forgetInBackground(this.#session, this.#target, this.id, this.#givingBack());
    return true;
  }

  pushRenewal(args: string[], ttl: number, exact: boolean): void {
    const { family, settings } = this.#target;
    args.push(exact ? family.code.toUpperCase() : family.code, this.id, String(ttl), String(settings.retention));
  }

  /** Renewed by a command that was sent at `sentAt`. */
  prolong(sentAt: number): void {
    this.#failure = undefined;
    if (this.#state === "held") this.#confirm(sentAt);
  }

  retryRenewal(error: unknown): void {
    this.#failure = error;
    this.#renewAt = now() + Math.min(Math.max(this.#ttl / 20, 25), 1000);
  }

  lose(state: string, cause?: unknown): void {
    if (this.#state !== "held") return;
    this.#state = "lost";
    this.#session.keeper.delete(this);
    this.#lostError = new LeaseLostError(
      `Cannot keep ${this.#target.what}: ${state}`,
      cause === undefined ? undefined : { cause },
    );
    this.#controller?.abort(this.#lostError);
  }

  /** The server has set the end to one ttl after `sentAt`, or later. Answers whether that will stay so. */
  #confirm(sentAt: number): boolean {
    // What was sent before can run after this command, but not once it is too late for it.
    if (this.#session.serverTime(sentAt) > this.#strayUntil) this.#strayTtl = Infinity;
    const ttl = Math.min(this.#ttl, this.#strayTtl);
    this.#keptUntil = sentAt + trusted(this.#ttl);
    this.#setDeadline(sentAt + trusted(ttl), ttl);
    return ttl === this.#ttl;
  }

  #setDeadline(deadline: number, ttl: number): void {
    this.#deadline = deadline;
    const left = deadline - now();
    this.#expiresAt = Math.round(Date.now() + left);
    this.#renewAt = this.#target.settings.renew ? deadline - ttl * 2 / 3 : Infinity;
  }

  /** Before asking for this time: whether or not it is set, and whether or not we hear of it, nobody may get in. */
  #trustNoMoreThan(sentAt: number, ttl: number): void {
    const deadline = sentAt + trusted(ttl);
    if (deadline >= this.#deadline) return;
    this.#setDeadline(deadline, ttl);
    this.#session.keeper.add(this);
  }

  #check(): void {
    if (this.#state === "held") this.outOfTime(now());
    if (this.#lostError) {
      throw new LeaseLostError(`Cannot extend ${this.#target.what}: the lease is lost`, { cause: this.#lostError });
    }
    if (this.#state === "released") throw new NotHeldError(`Cannot extend ${this.#target.what}: it was given back`);
  }

  async #extend(ttl: number): Promise<void> {
    this.#check();
    while (this.#renewal) await this.#renewal; // its end would be set over ours
    this.beginRenewal();
    try {
      while (!await this.#tryExtend(ttl)) await sleep(Math.min(ttl / 20, this.#ttl / 20, this.#strayTtl / 20, 1000));
    } finally {
      this.endRenewal();
      if (this.#state === "held") this.#session.keeper.add(this);
    }
  }

  async #tryExtend(ttl: number): Promise<boolean> {
    this.#check();
    const sentAt = now();
    this.#trustNoMoreThan(sentAt, ttl);
    const limit = Math.min(this.renewalLimit, limitOf(ttl), Math.max(1, this.#deadline - sentAt));
    this.#keptUntil = Math.max(this.#keptUntil, sentAt + limit + ttl);
    const latest = this.#session.serverTime(sentAt + limit);
    const args = [String(latest)];
    this.pushRenewal(args, ttl, true);
    try {
      const answer = await this.#session.run(renew, [this.key], args, limit) as unknown[];
      const [code = NaN, result = NaN] = answer.map(Number);
      this.#session.sawTime(code === -2 ? result : code);
      if (code === -2) return false;
      if (result !== 1) {
        this.lose("Redis no longer knows this hold: its data is gone, or somebody else holds now");
      }
    } catch (error) {
      this.#failure = error;
      this.#strayTtl = Math.min(this.#strayTtl, ttl);
      this.#strayUntil = Math.max(this.#strayUntil, latest);
      if (this.#session.mayPass(error)) return false;
      throw explain(`extend ${this.#target.what}`, error);
    }
    this.#check();
    this.#ttl = ttl;
    this.#failure = undefined;
    return this.#confirm(sentAt);
  }

  async #giveBack(): Promise<boolean> {
    if (this.#state === "held") this.outOfTime(now());
    if (this.#state !== "held") return false;
    this.#state = "released";
    this.#session.keeper.delete(this);
    if (this.#renewal) await this.#renewal;
    const was = await forget(this.#session, this.#target, this.id, this.#givingBack());
    return was === "held";
  }

  #givingBack(): ForgetOptions {
    return { act: `release ${this.#target.what}`, until: this.#keptUntil, stray: this.#stray };
  }
}
