/**
 * One call of `extend()`: commands that set a new ttl, until the server confirms one. Invariants: from the first command
 * on, the local deadline is no later than the new ttl allows; no renewal is in flight meanwhile.
 *
 * @module
 */
import { pause } from "../../internal/cancellation.ts";
import { explain } from "../errors.ts";
import { renew } from "../scripts/renew.ts";
import { type Moment, moment } from "./lease_deadline.ts";
import { type LeaseHold, limitOf } from "./lease_hold.ts";
import type { ResourceSpec } from "./resource_spec.ts";

/** Resolves once the server has confirmed that the hold lasts for `ttl` milliseconds more. */
export function extend(spec: ResourceSpec, hold: LeaseHold, ttl: number): Promise<void> {
  return new LeaseExtension(spec, hold, ttl).run();
}

class LeaseExtension {
  readonly #spec: ResourceSpec;
  readonly #hold: LeaseHold;
  readonly #ttl: number;

  constructor(spec: ResourceSpec, hold: LeaseHold, ttl: number) {
    this.#spec = spec;
    this.#hold = hold;
    this.#ttl = ttl;
  }

  async run(): Promise<void> {
    const { slot, deadline } = this.#hold;
    this.#hold.check();
    await slot.whenFree();
    slot.begin();
    try {
      while (!await this.#attempt()) {
        await pause(Math.min(this.#ttl / 20, deadline.ttl / 20, deadline.unansweredTtl / 20, 1000));
      }
    } finally {
      slot.end();
      this.#hold.reschedule();
    }
  }

  /** Returns whether the new ttl is set, and stays so. */
  async #attempt(): Promise<boolean> {
    this.#hold.check();
    const { deadline } = this.#hold;
    const sent = moment();
    const limit = this.#limitDeadline(sent);
    const latest = this.#spec.connection.serverTime(sent.at + limit);
    try {
      if (!await this.#send(latest, limit)) return false;
    } catch (error) {
      this.#hold.failure = error;
      deadline.unanswered(this.#ttl, latest);
      if (this.#spec.connection.mayPass(error)) return false;
      throw explain(`extend ${this.#spec.what}`, error);
    }
    this.#hold.check();
    this.#hold.failure = undefined;
    return deadline.confirm(sent, this.#spec.connection.serverTime(sent.at), this.#ttl);
  }

  /** Trusts no more than the new ttl leaves. Returns the milliseconds that the command may take. */
  #limitDeadline({ at }: Moment): number {
    const { deadline, renewalLimit } = this.#hold;
    const least = Math.min(renewalLimit, limitOf(this.#ttl));
    if (deadline.limit(at, this.#ttl, least)) this.#hold.reschedule();
    return Math.min(least, Math.max(1, deadline.at - at));
  }

  /** Returns false if the command came too late by the server's clock. */
  async #send(latest: number, limit: number): Promise<boolean> {
    const args = [String(latest)];
    this.#hold.pushRenewal(args, this.#ttl, true);
    const answer = await this.#spec.connection.run(renew, [this.#hold.key], args, limit) as unknown[];
    const [code = NaN, result = NaN] = answer.map(Number);
    this.#spec.connection.sawTime(code === -2 ? result : code);
    if (code === -2) return false;
    if (result !== 1) this.#hold.loseUnknown();
    return true;
  }
}
