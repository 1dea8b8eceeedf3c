/**
 * Renews leases in batches, and ends expired leases. Invariants: one timer for all leases, set no later than the
 * earliest deadline; it exists only while a lease is held, and never keeps the process alive.
 *
 * @module
 */
import { onCancel } from "../../internal/cancellation.ts";
import { exposeState } from "../../internal/state.ts";
import { Timer } from "../../internal/timer.ts";
import { codeOf, DataError } from "../errors.ts";
import type { Renewal, Renewed, Store } from "../store/store.ts";
import { SentCommand } from "../store/commands.ts";
import { commandLimit, LEAST_LIMIT, type Moment, notBefore } from "../times.ts";

/** Leases in one command: few commands renew 10,000 leases, and none of them blocks the server. */
const BATCH = 100;

/** A lease as seen by its renewer. */
export interface RenewableLease {
  /** The present request to renew it. */
  readonly renewal: Renewal;
  /** Local time of its next check. */
  readonly nextCheck: number;
  /**
   * Ends the lease if its time is over, before its holder can act on it. Returns whether to renew it now. If so, its
   * next check lies ahead.
   */
  checkDue(time: number): boolean;
  /** Called with the answer, perhaps late, to a command that was sent at that moment with this number. */
  renewed(sent: Moment, number: number, renewed: Renewed): void;
  /** @param isLate Whether the command counted as unanswered before. */
  failRenewal(number: number, error: unknown, isLate: boolean): void;
  /** Called when a command has no answer. */
  unanswered(): void;
  /** Called when the client is closed: a lease that can no longer be renewed or released is not trusted. */
  close(): void;
}

export class LeaseRenewer {
  readonly #store: Store;
  readonly #leases = new Set<RenewableLease>();
  readonly #timer = new Timer((due) => this.#checkAll(notBefore(due)));
  /** Whether each command may have keys of one name only. Set by the server's refusal if the client does not know. */
  #onePerCommand: boolean;

  static {
    exposeState(LeaseRenewer, (renewer) => [renewer.#leases, renewer.#timer]);
  }

  constructor(store: Store) {
    this.#store = store;
    this.#onePerCommand = store.backend.cluster === true;
    onCancel({ signal: store.closing }, () => {
      for (const lease of [...this.#leases]) lease.close();
    });
  }

  add(lease: RenewableLease): void {
    this.#leases.add(lease);
    this.#timer.setNoLaterThan(lease.nextCheck);
  }

  delete(lease: RenewableLease): void {
    if (this.#leases.delete(lease) && this.#leases.size === 0) this.#timer.clear();
  }

  #checkAll(time: number): void {
    const due = [...this.#leases].filter((lease) => lease.checkDue(time)); // the end of one may end others
    this.#timer.setNoLaterThan(
      [...this.#leases].reduce((first, { nextCheck }) => Math.min(first, nextCheck), Infinity),
    );
    const size = this.#onePerCommand ? 1 : BATCH;
    for (let from = 0; from < due.length; from += size) void this.renew(due.slice(from, from + size));
  }

  /** Sends one command. */
  async renew(batch: readonly RenewableLease[]): Promise<void> {
    let isLate = false;
    const holds = batch.map(({ renewal }) => renewal);
    const sent = new SentCommand(commandLimit(Math.min(...holds.map(({ ttl }) => ttl)), LEAST_LIMIT.renew), {
      isUrgent: true,
      unanswered: () => {
        isLate = true;
        batch.forEach((lease) => lease.unanswered());
      },
    });
    try {
      const renewed = await this.#store.renew(holds, sent);
      batch.forEach((lease, i) => lease.renewed(sent, holds[i]!.number, renewed[i]!));
    } catch (error) {
      // Bad data of one lease must not end the other leases.
      if (error instanceof DataError && batch.length > 1) return batch.forEach((lease) => void this.renew([lease]));
      if (codeOf(error) === "CROSSSLOT") this.#onePerCommand = true;
      batch.forEach((lease, i) => lease.failRenewal(holds[i]!.number, error, isLate));
    }
  }
}
