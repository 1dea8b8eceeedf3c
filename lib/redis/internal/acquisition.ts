/**
 * One call that acquires, from its first command to its lease or its end: sends its commands one after the other, and
 * decides by each answer or failure. Invariant: it sends none once it has settled, except to release its id.
 *
 * @module
 */
import type { WaitOptions } from "../../types.ts";
import type { Cancellable, CancelOutcome, CancelRegistration } from "../../internal/cancellation.ts";
import { hook } from "../../internal/hook.ts";
import { AcquireCommand, type Answer, type LateGrant, type Waiting } from "./acquire_command.ts";
import { AcquirePause } from "./acquire_pause.ts";
import { now } from "./clock.ts";
import { explain, NoAnswerError } from "../errors.ts";
import { trusted } from "./lease_deadline.ts";
import type { Lease } from "../lease.ts";
import { QueueWaiter } from "./queue_waiter.ts";
import type { ResourceSpec } from "./resource_spec.ts";
import { RetryPolicy } from "./retry_policy.ts";
import { Settlement, timedOutError } from "./settlement.ts";
import { NotifyMode } from "./subscription.ts";

/** Milliseconds that the only round trip of a call with `timeout: 0` may take. */
const ONE_ATTEMPT = 1000;

/** A command without an answer for less than this says nothing about the connection. */
const SILENCE = 100;

/** Waits in the queue. */
export function acquire(spec: ResourceSpec, options: WaitOptions = {}): Promise<Lease> {
  const { signal, timeout = Infinity } = options;
  if (signal?.aborted) return Promise.reject(signal.reason);
  if (timeout !== 0) return new Acquisition(spec, true, timeout, signal).lease as Promise<Lease>;
  // Tries once without waiting: the round trip to Redis is not waiting, but is bounded as well.
  return new Acquisition(spec, false, 0, signal).lease.then((lease) => {
    if (lease) return lease;
    throw timedOutError(spec, 0);
  });
}

/** Tries once, without joining the queue. */
export function tryAcquire(spec: ResourceSpec): Promise<Lease | undefined> {
  return new Acquisition(spec, false, Infinity, undefined).lease;
}

/** The object itself is the `call` by which the hook knows this acquisition, and then its lease. */
class Acquisition implements Cancellable<CancelRegistration> {
  readonly #spec: ResourceSpec;
  readonly #waits: boolean;
  readonly #timeout: number;
  readonly #command: AcquireCommand;
  readonly #retry: RetryPolicy;
  readonly #pause = new AcquirePause();
  readonly #settlement: Settlement;
  readonly #waiter: QueueWaiter;
  /** Counts only if the command in flight has no answer either. */
  #late: LateGrant | undefined;

  constructor(
    spec: ResourceSpec,
    waits: boolean,
    timeout: number,
    signal: AbortSignal | undefined,
  ) {
    const least = timeout === 0 ? ONE_ATTEMPT : timeout;
    this.#spec = spec;
    this.#waits = waits;
    this.#timeout = timeout;
    this.#command = new AcquireCommand(spec, (grant) => this.#cameLate(grant));
    this.#retry = new RetryPolicy(spec.settings.ttl, now() + least, timeout === Infinity && signal === undefined);
    this.#settlement = new Settlement(spec, this.#command, this.#pause, this);
    this.#waiter = new QueueWaiter(this.#command.id, spec, this.#pause, this.#settlement);
    if (hook !== undefined) hook.begin(this);
    this.#settlement.limits.begin({ signal, timeout: least });
    void this.#run();
  }

  get lease(): Promise<Lease | undefined> {
    return this.#settlement.lease;
  }

  // As one that can be cancelled.

  leave({ signal }: CancelRegistration, outcome: CancelOutcome): void {
    if (outcome === "aborted") this.#settlement.cancel(signal?.reason, outcome);
    else this.#timeOut();
  }

  afterLeave(): void {}

  // The commands.

  async #run(): Promise<void> {
    const { connection, family: { release } } = this.#spec;
    while (!this.#settlement.settled) {
      this.#waiter.asking();
      try {
        if (!connection.isReady(release)) await connection.ready(release, this.#retry.begin());
        if (this.#settlement.settled) break;
        this.#take(await this.#send());
      } catch (error) {
        if (this.#settlement.settled) break;
        this.#failed(error);
      }
      if (!this.#settlement.settled) await this.#pause.begin();
    }
    this.#command.releaseById();
  }

  #send(): Promise<Answer> {
    const { subscription } = this.#spec.connection;
    const mode = this.#waits ? subscription.mode : NotifyMode.none;
    // A push can arrive sooner than the answer.
    if (this.#waits && subscription.live) subscription.add(this.#command.id, this.#waiter);
    return this.#command.send(mode, this.#waiter.place, this.#retry.begin(), () => this.#settlement.settled);
  }

  #take(answer: Answer): void {
    if (answer.kind === "refused") {
      if (this.#takeLate()) return;
      // Too late by the server's clock, which is known better now.
      if (!this.#retry.refused()) throw new NoAnswerError("the command came too late by the server's clock");
      return this.#pause.skip();
    }
    this.#late = undefined;
    if (answer.kind === "granted") this.#granted(answer.fence, answer.sentAt + trusted(this.#spec.settings.ttl));
    else if (this.#waits && answer.place !== 0) this.#queued(answer);
    else if (!answer.more) this.#settlement.refuse();
    if (answer.kind === "waiting" && answer.more) this.#pause.skip();
    this.#retry.answered();
  }

  #granted(fence: number, deadline: number): void {
    if (this.#settlement.settled) return;
    if (deadline <= now()) throw new NoAnswerError("the answer came after the lease had ended");
    this.#settlement.grant(fence, deadline);
    const missed = this.#waiter.place !== 0 && this.#spec.limit > 1;
    if (missed) this.#spec.connection.subscription.askNext(this.#waiter.queue); // it may hold as well
  }

  #cameLate(grant: LateGrant): void {
    this.#late = grant;
    if (this.#pause.active) this.#takeLate();
  }

  /** Returns whether there was a late grant that can still be trusted. */
  #takeLate(): boolean {
    const late = this.#late;
    this.#late = undefined;
    if (late === undefined || this.#settlement.settled) return false;
    const deadline = late.sentAt + trusted(this.#spec.settings.ttl);
    if (deadline <= now()) return false;
    this.#command.gap = late.gap;
    this.#settlement.grant(late.fence, deadline);
    return true;
  }

  #queued(answer: Waiting): void {
    const joins = this.#waiter.place === 0 && !this.#settlement.settled;
    if (joins && hook !== undefined) hook.wait(this.#spec.resource, this, this.#spec.weight);
    this.#waiter.queued(answer);
  }

  #failed(error: unknown): void {
    if (this.#waiter.takePushedGrant() || this.#takeLate()) return;
    const againAt = this.#retry.failed(error);
    const mayPass = this.#spec.connection.mayPass(error);
    if (this.#waits && mayPass && againAt !== undefined) return this.#pause.endAt(againAt);
    if (this.#command.inFlightUntil === 0 && this.#waiter.place === 0) this.#command.known = false;
    // It may pass, but not within the only attempt.
    if (this.#timeout === 0 && mayPass) return this.#timeOut();
    this.#settlement.cancel(explain(`acquire ${this.#spec.what}`, this.#retry.failure), "error");
  }

  #timeOut(): void {
    // A waiter whose last command was answered just waited.
    const { silence, failure } = this.#retry;
    const silent = !this.#pause.active && (this.#waiter.place === 0 || silence > SILENCE);
    this.#settlement.timeOut(this.#timeout, failure ?? (silent ? this.#spec.connection.silence(silence) : undefined));
  }
}
