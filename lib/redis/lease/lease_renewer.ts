/**
 * Renews leases in batches, and ends expired leases. Invariants: one timer for all leases, set no later than the
 * earliest deadline; it exists only while a lease is held, and never keeps the process alive.
 *
 * @module
 */
import { codeOf, DataError } from "../errors.ts";
import { type Member, Members } from "../store/members.ts";
import type { Renewal, Renewed, Store } from "../store/store.ts";
import { LocalTimer } from "../clock.ts";
import { assertRules } from "../sound.ts";
import { type Moment, moment } from "./lease_deadline.ts";

/**
 * Leases in one command: large enough that 10,000 leases take 100 commands per third of the ttl, small enough not to
 * block.
 */
const BATCH = 100;

/** Batches in flight at a time, so that other commands get through between them. */
const LANES = 4;

/** A lease as seen by its renewer. */
export interface RenewableLease extends Member, Renewal {
  /** Local time of its next check. */
  readonly nextLook: number;
  /** Milliseconds that a renewal may take. */
  readonly renewalLimit: number;
  /** Whether to renew it now. */
  isDue(time: number): boolean;
  /** Called before a renewal is sent, which may take `limit` milliseconds. */
  beginRenewal(limit: number): void;
  /** Ends the lease if its time is over, before its holder can act on it. Returns whether it is lost. */
  expire(time: number): boolean;
  /** Called with the answer, perhaps late, to a command that was sent at that moment with this number. */
  renewed(sent: Moment, number: number, renewed: Renewed): void;
  failRenewal(error: unknown): void;
  /** Called when the client is closed: a lease that can no longer be renewed or released is not trusted. */
  close(): void;
  /** Throws unless it is held; for tests. */
  assertSound(): void;
}

export class LeaseRenewer {
  readonly #store: Store;
  readonly #leases = new Members<RenewableLease>();
  readonly #timer = new LocalTimer((time) => this.#look(time));
  /** Whether each command may have keys of one name only. Set by the server's refusal if the client does not know. */
  #single = false;

  constructor(store: Store) {
    this.#store = store;
    store.onClose({ index: -1, close: () => this.#close() });
  }

  add(lease: RenewableLease): void {
    this.#leases.add(lease);
    this.#timer.advance(lease.nextLook);
  }

  delete(lease: RenewableLease): void {
    if (this.#leases.delete(lease) && this.#leases.size === 0) this.#timer.clear();
  }

  #close(): void {
    for (const lease of this.#leases.all()) lease.close();
  }

  /** Throws unless the invariants hold; for tests. */
  assertSound(): void {
    const leases = this.#leases.all();
    for (const lease of leases) lease.assertSound();
    const next = Math.min(...leases.map(({ nextLook }) => nextLook));
    assertRules("renewer", {
      "a lease is looked at too late": this.#timer.at <= next,
      "a timer without leases": leases.length > 0 || this.#timer.at === Infinity,
    });
  }

  #look(time: number): void {
    const due: RenewableLease[] = [];
    let next = Infinity;
    for (const lease of this.#leases.all()) {
      if (lease.expire(time) || !this.#leases.has(lease)) continue; // removed meanwhile
      if (lease.isDue(time)) {
        lease.beginRenewal(lease.renewalLimit); // at once, so that its next check lies ahead
        due.push(lease);
      }
      next = Math.min(next, lease.nextLook);
    }
    if (this.#leases.size > 0) this.#timer.advance(next);
    if (due.length > 0) void this.#renewAll(due);
  }

  async #renewAll(due: RenewableLease[]): Promise<void> {
    const size = this.#single || this.#store.cluster ? 1 : BATCH;
    let taken = 0;
    const lane = async () => {
      while (taken < due.length) await this.#renew(due.slice(taken, taken += size));
    };
    // Single renewals may go to different nodes, and a silent node must not delay the rest.
    await Promise.all(Array.from({ length: size === 1 ? due.length : LANES }, lane));
  }

  async #renew(batch: RenewableLease[]): Promise<void> {
    // The shortest limit, because that lease needs time for another attempt.
    const limit = Math.min(...batch.map((lease) => lease.renewalLimit));
    const sent = moment();
    const holds = batch.map(({ id, spec, ttl, number }) => ({ id, spec, ttl, number })); // as they are now
    const take = (renewed: Renewed[]) => renewed.forEach((one, i) => batch[i]!.renewed(sent, holds[i]!.number, one));
    try {
      take(await this.#store.renew(holds, limit, take));
    } catch (error) {
      // Bad data of one lease must not end the other leases.
      if (error instanceof DataError && batch.length > 1) {
        return void await Promise.all(batch.map((lease) => this.#renew([lease])));
      }
      if (codeOf(error) === "CROSSSLOT") this.#single = true;
      for (const lease of batch) lease.failRenewal(error);
    }
  }
}
