/**
 * Keeps what is held: renews in batches, and ends a lease whose time is over. Invariants: one timer for all leases,
 * set no later than the earliest deadline; it exists only while something is held, and never keeps the process alive.
 *
 * @module
 */
import { codeOf } from "./errors.ts";
import type { HeldLease } from "./_held_lease.ts";
import type { Session } from "./_session.ts";
import { renew } from "./scripts.ts";
import { Alarm, now } from "./_time.ts";

/** Leases in one command: large enough that 10,000 cost 100 commands a third of their ttl, small enough not to block. */
const BATCH = 100;

/** Batches under way at a time, so that others get their turn in between. */
const LANES = 4;

export class Keeper {
  readonly #session: Session;
  readonly #leases = new Set<HeldLease>();
  readonly #alarm = new Alarm(() => this.#look());
  /** Learnt from the server's refusal where the client cannot tell: keys of two names never fit into one command. */
  #single = false;

  constructor(session: Session) {
    this.#session = session;
  }

  add(lease: HeldLease): void {
    this.#leases.add(lease);
    this.#alarm.advance(lease.nextLook);
  }

  delete(lease: HeldLease): void {
    if (this.#leases.delete(lease) && this.#leases.size === 0) this.#alarm.clear();
  }

  /** The client is closed: what nothing can renew or give back any more cannot be trusted to be there. */
  close(): void {
    for (const lease of [...this.#leases]) lease.lose("the client was closed");
  }

  #look(): void {
    const time = now();
    const due: HeldLease[] = [];
    let next = Infinity;
    for (const lease of this.#leases) {
      if (lease.outOfTime(time)) continue; // this took it off the set
      if (lease.isDue(time)) due.push(lease);
      else next = Math.min(next, lease.nextLook);
    }
    for (const lease of due) {
      lease.renewal = new Promise((resolve) => lease.renewed = resolve);
      next = Math.min(next, lease.nextLook); // its deadline, for as long as the renewal is under way
    }
    if (this.#leases.size > 0) this.#alarm.advance(next);
    if (due.length > 0) void this.#renewAll(due);
  }

  async #renewAll(due: HeldLease[]): Promise<void> {
    const size = this.#single || this.#session.backend.cluster ? 1 : BATCH;
    let taken = 0;
    const lane = async () => {
      while (taken < due.length) {
        const batch = due.slice(taken, taken += size);
        await this.#renew(batch);
        for (const lease of batch) {
          lease.renewal = undefined;
          lease.renewed?.();
          if (this.#leases.has(lease)) this.#alarm.advance(lease.nextLook);
        }
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
  }

  async #renew(batch: HeldLease[]): Promise<void> {
    const sentAt = now();
    const limit = Math.max(...batch.map((lease) => lease.renewalLimit));
    const args = [String(this.#session.serverTime(sentAt + limit))];
    for (const lease of batch) lease.pushRenewal(args, lease.ttl, false);
    try {
      const answer = await this.#session.run(renew, batch.map((lease) => lease.key), args, limit) as unknown[];
      this.#session.sawTime(Number(answer[0] === -2 ? answer[1] : answer[0]));
      if (answer[0] === -2) throw new Error("the renewal came too late");
      batch.forEach((lease, i) => {
        if (Number(answer[i + 1]) === 1) lease.prolong(sentAt);
        else lease.lose("Redis no longer knows this hold: its data is gone, or somebody else holds now");
      });
    } catch (error) {
      if (codeOf(error) === "CROSSSLOT") this.#single = true;
      for (const lease of batch) lease.retryRenewal(error);
    }
  }
}
