/**
 * A hold as seen by this process and by the renewer. Invariants: it goes from held to lost or released, once and for
 * good; its signal is aborted exactly while it is lost; `isHeld()` implies that its deadline lies ahead.
 *
 * @module
 */
import { LeaseLostError, NotHeldError } from "../../errors.ts";
import { hook } from "../../internal/hook.ts";
import { sharedController, warn } from "../../internal/platform.ts";
import { exposeState } from "../../internal/state.ts";
import { causedBy, ClientClosedError, explain, messageOf } from "../errors.ts";
import { sendSingle } from "../call/single_command.ts";
import type { ResourceSpec } from "../resource_spec.ts";
import type { Renewal, Renewed, Store } from "../store/store.ts";
import type { SentCommand } from "../store/commands.ts";
import { commandLimit, LEAST_LIMIT, LOSSES_APART, type Moment, now, SILENCE } from "../times.ts";
import { LeaseDeadline } from "./lease_deadline.ts";
import type { RenewableLease } from "./lease_renewer.ts";
import { release, releaseInBackground } from "./release.ts";

/** The call that was granted the hold; also the hook's `call`. */
export interface Grant {
  readonly spec: ResourceSpec;
  readonly id: string;
  readonly fence: number;
  /** When the command that confirmed the hold was sent: it lasts for at least one ttl from then. */
  readonly trustedFrom: Moment;
  /** The hold that was taken over, if one was: the server may keep it for longer than one ttl. */
  readonly adopts: string | undefined;
}

/** When each client has lost its last lease. */
const lostAt = new WeakMap<Store, number>();

/** Warns of the first loss in a while: a program that ignores `lease.signal` would continue as if it held. */
function warnOfLoss(store: Store, { message, cause }: LeaseLostError): void {
  const isFirst = now() - (lostAt.get(store) ?? -Infinity) >= LOSSES_APART;
  lostAt.set(store, now());
  if (!isFirst) return;
  const why = cause === undefined ? "" : ` (${messageOf(cause)})`;
  const words =
    `A lease was lost. ${message}${why}. Further losses of this client are not printed until ten minutes pass without one`;
  warn(`${words}. Work under a lease should end when lease.signal aborts.`, "INTERLOCK_LEASE_LOST");
}

export class LeaseHold implements RenewableLease {
  readonly spec: ResourceSpec;
  readonly grant: Grant;
  readonly deadline: LeaseDeadline;
  /** The callers of `extend()` that wait for the server's confirmation, by the numbers of their requests. */
  #extensions: { readonly number: number; resolve(): void; reject(error: unknown): void }[] = [];
  /** The failure of the last command that sets the end; undefined after a success. */
  #failure: unknown;
  /** When the first command without an answer was sent that sets the end. */
  #askedAt: number | undefined;
  /** Whether the client was closed while it was held. */
  #wasClosed = false;
  /** How it has ended: by its loss, or released. */
  #end: LeaseLostError | "released" | undefined;
  #controller: AbortController | undefined;

  static {
    exposeState(LeaseHold, (hold) => [hold.#end, hold.#controller]);
  }

  constructor(grant: Grant) {
    this.spec = grant.spec;
    this.grant = grant;
    this.deadline = new LeaseDeadline(grant.spec.settings, grant.trustedFrom);
    this.reschedule();
  }

  // Held, lost, released.

  /** Whether it is held now by the monotonic clock. It is lost once its time is over. */
  isHeld(time = now()): boolean {
    if (this.#end === undefined && time >= this.deadline.at) this.#expire();
    return this.#end === undefined;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = sharedController();
      if (this.#end instanceof LeaseLostError) this.#controller.abort(this.#end);
    }
    this.isHeld();
    return this.#controller.signal;
  }

  /** Why it can no longer be extended. */
  #refusal(): Error {
    const refusal = `Cannot extend ${this.spec.what}`;
    if (this.#end === "released") return new NotHeldError(`${refusal}: it was released`);
    const why = this.#wasClosed ? ", because the client was closed" : "";
    return new LeaseLostError(`${refusal}: the lease is lost${why}`, { cause: this.#end });
  }

  /** Gives it back. Resolves to false after a loss, when Redis may still keep it. */
  async release(): Promise<boolean> {
    const { spec, grant: { id }, deadline } = this;
    if (!this.isHeld()) {
      if (this.#wasClosed) throw explain(`release ${spec.what}`, new ClientClosedError());
      return false;
    }
    this.#end = "released";
    this.#afterEnd(false);
    return await release(spec, id, deadline.at);
  }

  close(): void {
    this.#wasClosed = this.#end === undefined;
    const isExpected = this.spec.settings.renew === 0; // in Redis it lasts as long as it would have anyway
    this.#lose("the client was closed", undefined, isExpected);
  }

  /** @param isExpected Whether it needs no warning: without renewals, a lease ends with its ttl. */
  #lose(reason: string, cause?: unknown, isExpected = false): void {
    if (this.#end !== undefined) return;
    const error = this.#end = new LeaseLostError(`Cannot keep ${this.spec.what}: ${reason}`, causedBy(cause));
    this.#afterEnd(true);
    if (!isExpected) warnOfLoss(this.spec.namespace.store, error);
    this.#controller?.abort(error);
  }

  /** Called once when it has ended: stops its renewal, and reports the end. */
  #afterEnd(isLost: boolean): void {
    this.spec.namespace.renewer.delete(this);
    if (this.#extensions.length > 0) this.#settleExtensions(Infinity, this.#refusal());
    if (hook !== undefined) hook.release(this.spec.resource, this.grant, isLost);
  }

  /** Called when its time is over: finds the reason, and loses it. */
  #expire(): void {
    const { namespace: { store }, settings: { renew } } = this.spec;
    const isAsked = this.#askedAt !== undefined;
    const failure = this.#failure ?? (isAsked ? store.silence?.(this.#askedAt!, SILENCE) : undefined);
    const expired = `its ttl of ${this.deadline.ttl} ms is over, and it is not renewed (renew: ${renew || false})`;
    const hasFailed = isAsked || this.deadline.renewAt < Infinity || failure !== undefined;
    this.#lose(hasFailed ? "it could not be renewed in time" : expired, failure, !hasFailed && renew === 0);
    // The server may keep it for longer than this process: it was renewed, extended, or taken over.
    if (renew > 0 || this.deadline.number > 0 || this.grant.adopts !== undefined) {
      void releaseInBackground(this.spec, this.grant.id);
    }
  }

  // Commands that set the end, or ask for it.

  /** Checks whether the server still keeps the hold, and loses it if not. */
  async verify(): Promise<boolean> {
    if (!this.isHeld()) return false;
    const { namespace: { store }, what } = this.spec;
    let sent!: Moment;
    const limit = commandLimit(this.deadline.ttl, LEAST_LIMIT.renew);
    const send = (command: SentCommand) => store.verify(this.spec, this.grant.id, sent = command);
    const rest = await sendSingle(this.spec, `verify ${what}`, send, limit);
    if (rest > 0) this.deadline.verify(sent, rest);
    else this.#loseUnknown();
    this.reschedule();
    return this.isHeld();
  }

  /** Resolves once the server has confirmed that the hold lasts for `ttl` milliseconds more: an early renewal. */
  async extend(ttl: number): Promise<void> {
    if (!this.isHeld()) throw this.#refusal();
    const { namespace: { renewer, store } } = this.spec;
    const isShorter = ttl < this.deadline.ttl;
    const number = this.deadline.request(now(), ttl);
    const confirmed = new Promise<void>((resolve, reject) => this.#extensions.push({ number, resolve, reject }));
    this.#ask();
    this.reschedule();
    void renewer.renew([this]);
    await confirmed;
    if (isShorter) void store.wake?.(this.spec);
  }

  /** Settles the extensions up to this number: they were confirmed or superseded, or failed with the error. */
  #settleExtensions(number: number, error?: unknown): void {
    const settled = this.#extensions.filter((one) => one.number <= number);
    this.#extensions = this.#extensions.filter((one) => one.number > number);
    for (const { resolve, reject } of settled) error === undefined ? resolve() : reject(error);
  }

  /** Called before a command is sent that sets the end. */
  #ask(): void {
    this.#askedAt ??= now();
    this.deadline.asked();
  }

  unanswered(): void {
    this.#reportFailure();
    if (this.#askedAt !== undefined) this.#renewAgain(); // otherwise another command was answered
  }

  #reportFailure(): void {
    if (hook !== undefined && this.#end !== "released") hook.failRenewal(this.spec.resource);
  }

  #renewAgain(): void {
    this.deadline.retry();
    this.reschedule();
  }

  renewed(sent: Moment, number: number, renewed: Renewed): void {
    this.#askedAt = undefined;
    if (renewed === "lost") return this.#loseUnknown();
    if (number === this.deadline.number) this.#failure = undefined;
    if (renewed === "set" && this.#end === undefined) this.deadline.confirm(sent, number);
    if (this.isHeld()) this.#settleExtensions(number);
    this.reschedule();
  }

  failRenewal(number: number, error: unknown, isLate: boolean): void {
    if (!isLate) this.#reportFailure();
    this.#askedAt = undefined;
    this.#failure = error;
    const { namespace: { store }, what } = this.spec;
    if (!store.mayPass?.(error) && this.#extensions.some((one) => one.number <= number)) {
      this.deadline.refused(number);
      this.#settleExtensions(number, explain(`extend ${what}`, error));
    }
    this.#renewAgain();
  }

  /** Called when the server does not know this hold. */
  #loseUnknown(): void {
    this.#lose("Redis no longer knows this hold: its data is gone, or there is another holder now");
  }

  /** Reschedules it with the renewer after the time of its next check has changed. */
  reschedule(): void {
    if (this.#end === undefined) this.spec.namespace.renewer.add(this);
  }

  // For the renewer.

  get renewal(): Renewal {
    const { spec, grant: { id }, deadline: { ttl, number } } = this;
    return { id, spec, ttl, number };
  }

  get nextCheck(): number {
    return Math.min(this.deadline.renewAt, this.deadline.at);
  }

  /** True slightly early, so that one command renews leases of about the same age. */
  checkDue(time: number): boolean {
    if (!this.isHeld(time)) return false;
    this.deadline.checkClocks();
    if (time < this.deadline.renewAt - this.deadline.ttl / 12) return false;
    this.#ask();
    return true;
  }
}
