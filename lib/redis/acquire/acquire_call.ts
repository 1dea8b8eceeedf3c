/**
 * One call that acquires, from its first command to its lease or its end. Its states:
 *
 * - asking: a command is in flight, and its answer decides. A push that comes meanwhile counts only if there is none.
 * - pausing: the call waits for the time of its next command: a waiter's heartbeat, the end of a lease ahead of it, or
 *   another attempt after a failure. A pushed grant is taken at once.
 * - settled: granted, refused or cancelled, in one synchronous step.
 *
 * asking → settled, or pausing while it waits or may try again; pausing → asking when its time has come or a message may
 * have been missed; both → settled by the signal or the time-out. Invariant: nothing is sent once it has settled, except
 * to release its id if the server may know it and no lease has it.
 *
 * @module
 */
import type { TimeoutError } from "../../errors.ts";
import { type Cancellable, type CancelOutcome, CancelRegistration, timedOut } from "../../internal/cancellation.ts";
import { type GiveUpOutcome, hook } from "../../internal/hook.ts";
import { LocalTimer } from "../clock.ts";
import { explain, UselessAnswerError, wasAnswered } from "../errors.ts";
import type { Lease } from "../lease.ts";
import { releaseInBackground } from "../lease/background_release.ts";
import { type Moment, moment } from "../lease/lease_deadline.ts";
import { LeaseHandle } from "../lease/lease_handle.ts";
import type { ResourceSpec } from "../resource_spec.ts";
import { type AcquireAnswer, type AcquireRequest, type Granted, NotifyMode, type Waiting } from "../store/store.ts";
import { livenessOf, now, ONE_ATTEMPT, SILENCE, trusted } from "../times.ts";
import type { Listener } from "./listeners.ts";
import { QueuePosition } from "./queue_position.ts";
import { RetryPolicy } from "./retry_policy.ts";

/** @param cause The failure of the connection, if that was the obstacle. */
export function timedOutError({ what, resource }: ResourceSpec, timeout: number, cause?: unknown): TimeoutError {
  const options = cause === undefined ? undefined : { cause };
  return timedOut(`acquire ${what}`, timeout, hook?.holderOf(resource), options);
}

/** The object itself is the `call` by which the hook knows this acquisition, and then its lease. */
export class AcquireCall implements Cancellable<CancelRegistration>, AcquireRequest, Listener {
  readonly lease: Promise<Lease | undefined>;
  readonly id: string;
  readonly spec: ResourceSpec;
  readonly adopts: string | undefined;
  mode: NotifyMode = NotifyMode.none;
  latest = 0;
  settled = false;
  readonly #waits: boolean;
  readonly #timeout: number;
  readonly #limits: CancelRegistration;
  readonly #retry: RetryPolicy;
  #resolve!: (lease: Lease | undefined) => void;
  #reject!: (error: unknown) => void;
  /** Set while it pauses. */
  #endPause: (() => void) | undefined;
  /** Asked to skip the pause after the command in flight. */
  #skip = false;
  #timer: LocalTimer | undefined;
  /** Its place in the queue as last known; undefined before there is anything to know. */
  #position: QueuePosition | undefined;
  /** Asked because messages may have been missed, as were many others. */
  #spread = false;
  /** The server may know the id, and no lease has it. */
  #known = false;
  /** Server time until which a command whose answer never came may still run; 0 if there is none. */
  #unansweredUntil = 0;
  /** When the last command with an answer was sent. */
  #answered: Moment | undefined;
  /** A grant whose answer came after its command's time; counts only if the command in flight has no answer either. */
  #late: { readonly answer: Granted; readonly sent: Moment } | undefined;

  constructor(spec: ResourceSpec, waits: boolean, timeout: number, signal: AbortSignal | undefined, adopts?: string) {
    this.id = spec.client.store.newId();
    this.spec = spec;
    this.adopts = adopts;
    this.#waits = waits;
    this.#timeout = timeout;
    const least = timeout === 0 ? ONE_ATTEMPT : timeout;
    this.#retry = new RetryPolicy(spec.settings.ttl, now() + least, timeout === Infinity && signal === undefined);
    this.#limits = new CancelRegistration(this);
    this.lease = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    if (hook !== undefined) hook.begin(this);
    this.#limits.begin({ signal, timeout: least });
    void this.#run();
  }

  /** 0 before the server has answered that it waits. */
  get place(): number {
    return this.#position?.place ?? 0;
  }

  get queue(): string {
    return this.spec.keys[1];
  }

  // Asking.

  async #run(): Promise<void> {
    const { store } = this.spec.client;
    while (!this.settled) {
      this.#skip = false; // requests from before it no longer count, nor messages
      this.#position?.asking();
      try {
        if (!store.isReady(this.spec)) await store.ready(this.spec, this.#retry.begin());
        if (this.settled) break;
        const sent = moment();
        this.#take(await this.#send(sent), sent);
      } catch (error) {
        if (!wasAnswered(error)) this.#unansweredUntil = Math.max(this.#unansweredUntil, this.latest);
        if (this.settled) break;
        this.#failed(error);
      }
      if (!this.settled && !this.#skip) await this.#pause();
    }
    this.#releaseById();
  }

  #send(sent: Moment): Promise<AcquireAnswer> {
    const { client: { store, subscription }, clock } = this.spec;
    this.mode = this.#waits ? subscription.mode : NotifyMode.none;
    // A push can arrive sooner than the answer.
    if (this.#waits && subscription.live) subscription.add(this.id, this);
    const limit = this.#retry.begin();
    this.latest = clock.at(sent.at + limit);
    this.#known = true;
    return store.acquire(this, limit, (answer) => {
      if (answer.kind !== "granted" || sent.at <= (this.#answered?.at ?? -Infinity)) return;
      this.#late = { answer, sent };
      if (this.#endPause !== undefined) this.#takeLate();
    });
  }

  #take(answer: AcquireAnswer, sent: Moment): void {
    this.#answered = sent;
    if (answer.kind === "refused" && this.#takeLate()) return;
    const deadline = sent.at + trusted(this.spec.settings.ttl);
    // The command by the server's clock, which is known better now, or the answer by ours: a fake one may have gone.
    if (answer.kind === "refused" || (answer.kind === "granted" && deadline <= now())) {
      if (!this.#retry.refused()) throw new UselessAnswerError("the command or its answer came too late");
      return this.#askNow();
    }
    this.#late = undefined;
    if (answer.kind === "granted") this.#granted(answer, deadline, sent);
    else if (this.#waits && answer.place !== 0) this.#queued(answer, sent.at);
    else if (!answer.more) this.#refuse();
    if (answer.kind === "waiting" && answer.more) this.#askNow();
    this.#retry.answered();
  }

  #granted(answer: Granted, deadline: number, sent: Moment): void {
    if (this.settled) return;
    this.#grant(answer, deadline, sent);
    const missed = this.place !== 0 && this.spec.limit > 1;
    if (missed) this.spec.client.subscription.askNext(this.queue); // it may hold as well
  }

  #queued(answer: Waiting, sentAt: number): void {
    const { client: { subscription }, settings, resource, weight, what } = this.spec;
    if (this.place === 0 && !this.settled && hook !== undefined) {
      hook.wait(resource, this, weight);
      const deadlock = hook.deadlockOf(resource, this, `acquire ${what}`);
      if (deadlock !== undefined) this.#cancel(deadlock, "error");
    }
    const position = this.#position ??= new QueuePosition(settings.ttl);
    position.queued(answer, sentAt, this.mode, this.#spread, now());
    this.#spread = false;
    if (this.settled) return;
    subscription.add(this.id, this);
    if (this.#takePushed()) return;
    if (answer.deaf) subscription.restart();
    if (subscription.mayHaveMissed(this, sentAt)) return this.ask();
    this.#askAt(position.nextAt);
  }

  #failed(error: unknown): void {
    if (this.#takePushed() || this.#takeLate()) return;
    const againAt = this.#retry.failed(error);
    const mayPass = this.spec.client.store.mayPass(error);
    const retries = this.#waits || this.adopts !== undefined;
    if (retries && mayPass && againAt !== undefined) return this.#askAt(againAt);
    if (this.#unansweredUntil === 0 && this.place === 0) this.#known = false;
    // It may pass, but not within the only attempt.
    if (this.#timeout === 0 && mayPass) return this.#timeOut();
    this.#cancel(explain(`acquire ${this.spec.what}`, this.#retry.failure), "error");
  }

  // Pausing.

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#endPause = () => {
        this.#endPause = undefined;
        this.#timer?.clear();
        resolve();
      };
    });
  }

  #askAt(at: number): void {
    this.#timer ??= new LocalTimer(() => this.#endPause?.(), true);
    this.#timer.set(at);
  }

  /** Ends the pause, or skips the one after the command in flight. */
  #askNow(): void {
    this.#skip = true;
    this.#endPause?.();
  }

  ask(within?: number): void {
    // Drawing again at the next gap would bring the questions of all closer together.
    const isSoon = this.#spread;
    this.#spread = true;
    if (within === undefined) this.#askNow();
    else if (!isSoon) this.#timer?.advance(now() + Math.random() * within);
  }

  granted(fence: number, serverTime: number): void {
    if (this.settled) return;
    this.#position ??= new QueuePosition(this.spec.settings.ttl);
    this.#position.granted(fence, serverTime);
    // A command in flight decides. Else, after a long sleep, perhaps it still holds.
    if (this.#endPause !== undefined && !this.#takePushed()) this.ask();
  }

  leaseEnds(at: number, serverTime: number): void {
    const position = this.#position ??= new QueuePosition(this.spec.settings.ttl);
    position.leaseEnds(at, serverTime, now());
    // Before the first answer only the next attempt is set, and must stay.
    if (this.#endPause !== undefined && this.place !== 0) this.#askAt(position.nextAt);
  }

  /** Takes the grant that was pushed, if it can still be trusted. */
  #takePushed(): boolean {
    const grant = this.#position?.takeGrant(now());
    if (grant !== undefined) this.#grant(grant, grant.deadline, this.#answered!);
    return grant !== undefined;
  }

  /** Returns whether there was a late grant that can still be trusted. */
  #takeLate(): boolean {
    const late = this.#late;
    this.#late = undefined;
    if (late === undefined || this.settled) return false;
    const deadline = late.sent.at + trusted(this.spec.settings.ttl);
    if (deadline <= now()) return false;
    this.#grant(late.answer, deadline, late.sent);
    return true;
  }

  // Settled.

  settle({ reason }: CancelRegistration, outcome: CancelOutcome): void {
    if (outcome === "aborted") this.#cancel(reason, outcome);
    else this.#timeOut();
  }

  afterLeave(): void {}

  #timeOut(): void {
    // A waiter whose last command was answered just waited.
    const { silence, failure } = this.#retry;
    const silent = this.#endPause === undefined && (this.place === 0 || silence > SILENCE);
    const cause = failure ?? (silent ? this.spec.client.store.silence(silence) : undefined);
    this.#cancel(timedOutError(this.spec, this.#timeout, cause), "timeout");
  }

  #cancel(reason: unknown, outcome: GiveUpOutcome): void {
    if (this.settled) return;
    this.#settle(() => this.#reject(reason));
    if (hook !== undefined) hook.giveUp(this.spec.resource, this, outcome, this.spec.weight);
  }

  /** The call does not wait, and the resource is not free. */
  #refuse(): void {
    this.#known = false;
    this.#settle(() => this.#resolve(undefined));
  }

  /** @param deadline Local time of the lease's end, drift taken off. */
  #grant(granted: Omit<Granted, "kind">, deadline: number, { gap }: Moment): void {
    const { fence, weight = this.spec.weight, rest } = granted;
    const { ttl } = this.spec.settings;
    this.#known = false; // by the lease's release from now on
    const inFlightUntil = this.#unansweredUntil;
    const keptFor = rest === undefined ? livenessOf(ttl) - ttl : now() + rest - deadline;
    const grant = { id: this.id, fence, deadline, gap, inFlightUntil, keptFor, call: this };
    const lease = new LeaseHandle(this.spec, grant);
    this.#settle(() => this.#resolve(lease));
    if (hook !== undefined) hook.grant(this.spec.resource, this, weight);
  }

  #settle(settle: () => void): void {
    this.settled = true;
    this.#limits.end();
    this.spec.client.subscription.delete(this.id);
    // Before the caller continues, so that no later command of this process finds a trace.
    if (this.#endPause !== undefined) this.#releaseById();
    settle();
    this.#timer?.clear();
    this.#endPause?.();
  }

  #releaseById(): void {
    if (!this.#known) return;
    this.#known = false;
    const until = now() + livenessOf(this.spec.settings.ttl);
    void releaseInBackground(this.spec, this.id, { until, inFlightUntil: this.#unansweredUntil });
  }
}
