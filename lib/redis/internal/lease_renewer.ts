/**
 * Keeps what is held: renews in batches, and ends a lease whose time is over. Invariants: one timer for all leases,
 * set no later than the earliest deadline; it exists only while something is held, and never keeps the process alive.
 *
 * @module
 */
import { codeOf } from "../errors.ts";
import type { Link } from "./connection.ts";
import { renew } from "../scripts/mutex.ts";
import { Alarm, now } from "./clock.ts";

/** Leases in one command: large enough that 10,000 cost 100 commands a third of their ttl, small enough not to block. */
const BATCH = 100;

/** Batches under way at a time, so that others get their turn in between. */
const LANES = 4;

/** A lease, as its keeper sees it. */
export interface Kept {
  readonly key: string;
  readonly ttl: number;
  /** When it has to be looked at again, on the local clock. */
  readonly nextLook: number;
  /** How many milliseconds a renewal may take. */
  readonly renewalLimit: number;
  /** Whether to renew it now; not while a renewal is under way. */
  isDue(time: number): boolean;
  beginRenewal(): void;
  endRenewal(): void;
  /** Ends it if its time is over. */
  outOfTime(time: number): boolean;
  pushRenewal(args: string[], ttl: number, exact: boolean): void;
  prolong(sentAt: number): void;
  retryRenewal(error: unknown): void;
  lose(state: string): void;
}

export class Keeper {
  readonly #link: Link;
  readonly #leases = new Set<Kept>();
  readonly #alarm = new Alarm(() => this.#look());
  /** Learnt from the server's refusal where the client cannot tell: keys of two names never fit into one command. */
  #single = false;

  constructor(link: Link) {
    this.#link = link;
    link.onClose(() => this.#close());
  }

  add(lease: Kept): void {
    this.#leases.add(lease);
    this.#alarm.advance(lease.nextLook);
  }

  delete(lease: Kept): void {
    if (this.#leases.delete(lease) && this.#leases.size === 0) this.#alarm.clear();
  }

  /** The client is closed: what nothing can renew or give back any more cannot be trusted to be there. */
  #close(): void {
    for (const lease of [...this.#leases]) lease.lose("the client was closed");
  }

  #look(): void {
    const time = now();
    const due: Kept[] = [];
    let next = Infinity;
    for (const lease of this.#leases) {
      if (lease.outOfTime(time)) continue; // this took it off the set
      if (lease.isDue(time)) {
        lease.beginRenewal(); // at once: listeners of the next one that is lost may extend this one
        due.push(lease);
      }
      next = Math.min(next, lease.nextLook); // its deadline, for as long as the renewal is under way
    }
    if (this.#leases.size > 0) this.#alarm.advance(next);
    if (due.length > 0) void this.#renewAll(due);
  }

  async #renewAll(due: Kept[]): Promise<void> {
    const size = this.#single || this.#link.backend.cluster ? 1 : BATCH;
    let taken = 0;
    const lane = async () => {
      while (taken < due.length) {
        const batch = due.slice(taken, taken += size);
        await this.#renew(batch);
        for (const lease of batch) {
          lease.endRenewal();
          if (this.#leases.has(lease)) this.#alarm.advance(lease.nextLook);
        }
      }
    };
    // One by one they may go to different nodes, of which one that is silent must not hold up the others.
    await Promise.all(Array.from({ length: size === 1 ? due.length : LANES }, lane));
  }

  async #renew(batch: Kept[]): Promise<void> {
    const sentAt = now();
    const limit = Math.max(...batch.map((lease) => lease.renewalLimit));
    const args = [String(this.#link.serverTime(sentAt + limit))];
    for (const lease of batch) lease.pushRenewal(args, lease.ttl, false);
    try {
      const answer = await this.#link.run(renew, batch.map((lease) => lease.key), args, limit) as unknown[];
      const [code = NaN, ...results] = answer.map(Number);
      this.#link.sawTime(code === -2 ? results[0]! : code);
      if (code === -2) throw new Error("the renewal came too late");
      batch.forEach((lease, i) => {
        if (results[i] === 1) lease.prolong(sentAt);
        else lease.lose("Redis no longer knows this hold: its data is gone, or somebody else holds now");
      });
    } catch (error) {
      if (codeOf(error) === "CROSSSLOT") this.#single = true;
      for (const lease of batch) lease.retryRenewal(error);
    }
  }
}
