/**
 * Renews leases in batches, and ends those whose time is over. Invariants: one timer for all leases,
 * set no later than the earliest deadline; it exists only while a lease is held, and never keeps the process alive.
 *
 * @module
 */
import { codeOf, DataError, NoAnswerError } from "../errors.ts";
import { type Member, Members } from "../store/members.ts";
import type { Renewal, Store } from "../store/store.ts";
import { LocalTimer } from "../clock.ts";
import { type Moment, moment } from "./lease_deadline.ts";

/** Leases in one command: large enough that 10,000 cost 100 commands a third of their ttl, small enough not to block. */
const BATCH = 100;

/** Batches in flight at a time, so that other commands get through in between. */
const LANES = 4;

/** A lease, as its renewer sees it. */
export interface RenewableLease extends Member, Renewal {
  /** Local time at which it has to be looked at again. */
  readonly nextLook: number;
  /** Milliseconds that a renewal may take. */
  readonly renewalLimit: number;
  /** Whether to renew it now; not while a renewal is in flight. */
  isDue(time: number): boolean;
  /** Before and after a renewal. */
  begin(): void;
  end(): void;
  /** Ends the lease if its time is over, before its holder can act on it. Returns whether it is lost. */
  expire(time: number): boolean;
  /** Renewed by a command that was sent at that moment; perhaps its answer is late. */
  renewed(sent: Moment): void;
  retryRenewal(error: unknown): void;
  /** The client is closed: a lease that cannot be renewed or released any more is not trusted. */
  close(): void;
  /** The server does not know the hold. */
  loseUnknown(): void;
}

export class LeaseRenewer {
  readonly #store: Store;
  readonly #leases = new Members<RenewableLease>();
  readonly #timer = new LocalTimer((time) => this.#look(time));
  /** Set by the server's refusal if the client does not know: keys of two names never fit into one command. */
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

  #look(time: number): void {
    const due: RenewableLease[] = [];
    let next = Infinity;
    for (const lease of this.#leases.all()) {
      if (lease.expire(time) || !this.#leases.has(lease)) continue; // removed by that, or by a listener of another one
      if (lease.isDue(time)) {
        lease.begin(); // at once: listeners of the next one that is lost may extend this one
        due.push(lease);
      }
      next = Math.min(next, lease.nextLook); // its deadline, while the renewal is in flight
    }
    if (this.#leases.size > 0) this.#timer.advance(next);
    if (due.length > 0) void this.#renewAll(due);
  }

  async #renewAll(due: RenewableLease[]): Promise<void> {
    const size = this.#single || this.#store.cluster ? 1 : BATCH;
    let taken = 0;
    const lane = async () => {
      while (taken < due.length) {
        const batch = due.slice(taken, taken += size);
        await this.#renew(batch);
        for (const lease of batch) {
          lease.end();
          if (this.#leases.has(lease)) this.#timer.advance(lease.nextLook);
        }
      }
    };
    // Single ones may go to different nodes, of which a silent one must not delay the others.
    await Promise.all(Array.from({ length: size === 1 ? due.length : LANES }, lane));
  }

  async #renew(batch: RenewableLease[]): Promise<void> {
    // The shortest: the one that has it must have time left for another try.
    const limit = Math.min(...batch.map((lease) => lease.renewalLimit));
    try {
      // Refused as late, it is sent again at once: the answer has brought the server's time.
      if (await this.#send(batch, limit) || await this.#send(batch, limit)) return;
      throw new NoAnswerError("the renewal came too late by the server's clock");
    } catch (error) {
      // The bad data of one of them must not end the others.
      if (error instanceof DataError && batch.length > 1) {
        return void await Promise.all(batch.map((lease) => this.#renew([lease])));
      }
      if (codeOf(error) === "CROSSSLOT") this.#single = true;
      for (const lease of batch) lease.retryRenewal(error);
    }
  }

  /** Returns false if it came too late by the server's clock. */
  async #send(batch: RenewableLease[], limit: number): Promise<boolean> {
    const sent = moment();
    const take = (known: boolean[] | undefined) => {
      known?.forEach((is, i) => is ? batch[i]!.renewed(sent) : batch[i]!.loseUnknown());
      return known !== undefined;
    };
    const latest = batch[0]!.spec.clock.at(sent.at + limit);
    return take(await this.#store.renew({ holds: batch, exact: false, own: true, latest }, limit, take));
  }
}
