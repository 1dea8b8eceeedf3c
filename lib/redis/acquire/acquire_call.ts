/**
 * One call that acquires: it asks until it has a lease. While it is in the queue it pauses until its next heartbeat or the
 * end of a lease ahead of it. A pushed grant is taken at once; one that comes while a command is in flight counts only if
 * that has no answer. Invariant: nothing is sent once it has settled, except to release its id if the server may know it
 * and no lease has it.
 *
 * @module
 */
import { reasonOf } from "../../internal/check.ts";
import { hook } from "../../internal/hook.ts";
import type { WaitOptions } from "../../types.ts";
import { UselessAnswerError, wasAnswered } from "../errors.ts";
import type { Lease } from "../lease.ts";
import { releaseInBackground } from "../lease/background_release.ts";
import type { Moment } from "../lease/lease_deadline.ts";
import { LeaseHandle } from "../lease/lease_handle.ts";
import type { ResourceSpec } from "../resource_spec.ts";
import { type AcquireAnswer, type AcquireRequest, type Granted, NotifyMode, type Waiting } from "../store/store.ts";
import { livenessOf, now, SILENCE, trusted } from "../times.ts";
import { QueuePosition } from "./queue_position.ts";
import { ServerCall, timedOutError } from "./server_call.ts";
import type { Listener } from "./subscription.ts";

/** Waits in the queue. */
export function acquire(spec: ResourceSpec, options: WaitOptions = {}): Promise<Lease> {
  const { signal, timeout } = options;
  if (signal?.aborted) return Promise.reject(reasonOf(signal));
  if (timeout !== 0) return new AcquireCall(spec, true, options).result as Promise<Lease>;
  // Tries once without waiting.
  return new AcquireCall(spec, false, options).result.then((lease) => {
    if (lease) return lease;
    throw timedOutError(spec, 0);
  });
}

/** Asks once, without joining the queue; or takes over the hold with the id `adopts`. */
export function acquireOnce(spec: ResourceSpec, adopts?: string): Promise<Lease | undefined> {
  return new AcquireCall(spec, false, {}, adopts).result;
}

/** The object itself is the `call` by which the hook knows this acquisition, and then its lease. */
class AcquireCall extends ServerCall<AcquireAnswer, Lease | undefined> implements AcquireRequest, Listener {
  readonly id: string;
  readonly spec: ResourceSpec;
  readonly adopts: string | undefined;
  mode: NotifyMode = NotifyMode.none;
  readonly #waits: boolean;
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

  constructor(spec: ResourceSpec, waits: boolean, limits: WaitOptions, adopts?: string) {
    super(spec, spec.weight, limits, spec.settings.ttl);
    this.id = spec.client.store.newId();
    this.spec = spec;
    this.adopts = adopts;
    this.#waits = waits;
    this.begin(limits.signal);
  }

  /** 0 before the server has answered that it waits. */
  get place(): number {
    return this.#position?.place ?? 0;
  }

  get queue(): string {
    return this.spec.keys[1];
  }

  // Asking.

  protected override prepare(): Promise<void> | undefined {
    this.#position?.asking();
    return this.spec.client.store.ready(this.spec, this.retry.begin());
  }

  protected send(sent: Moment, limit: number): Promise<AcquireAnswer> {
    const { client: { store, subscription }, clock } = this.spec;
    this.mode = this.#waits ? subscription.mode : NotifyMode.none;
    // A push can arrive sooner than the answer.
    if (this.#waits && subscription.live) subscription.add(this.id, this);
    this.latest = clock.at(sent.at + limit);
    this.#known = true;
    return store.acquire(this, limit, (answer) => {
      if (answer.kind !== "granted" || sent.at <= (this.#answered?.at ?? -Infinity)) return;
      this.#late = { answer, sent };
      if (this.pauses) this.#takeLate();
    });
  }

  protected take(answer: AcquireAnswer, sent: Moment): void {
    this.#answered = sent;
    if (answer.kind === "refused" && this.#takeLate()) return;
    const deadline = sent.at + trusted(this.spec.settings.ttl);
    // The command by the server's clock, which is known better now, or the answer by ours: a fake one may have gone.
    if (answer.kind === "refused" || (answer.kind === "granted" && deadline <= now())) {
      if (!this.retry.refused()) throw new UselessAnswerError("the command or its answer came too late");
      return this.askNow();
    }
    this.#late = undefined;
    if (answer.kind === "granted") this.#granted(answer, deadline, sent);
    else if (this.#waits && answer.place !== 0) this.#queued(answer, sent.at);
    else if (!answer.more) this.#refuse();
    if (answer.kind === "waiting" && answer.more) this.askNow();
    this.retry.answered();
  }

  #granted(answer: Granted, deadline: number, sent: Moment): void {
    if (this.settled) return;
    this.#grant(answer, deadline, sent);
    const missed = this.place !== 0 && this.spec.limit > 1;
    if (missed) this.spec.client.subscription.askNext(this.queue); // it may hold as well
  }

  #queued(answer: Waiting, sentAt: number): void {
    const { client: { subscription }, settings, resource, what } = this.spec;
    if (this.place === 0 && !this.settled && hook !== undefined) {
      this.reportWait();
      const deadlock = hook.deadlockOf(resource, this, `acquire ${what}`);
      if (deadlock !== undefined) this.cancel(deadlock, "error");
    }
    const position = this.#position ??= new QueuePosition(settings.ttl);
    position.queued(answer, sentAt, this.mode, this.#spread, now());
    this.#spread = false;
    if (this.settled) return;
    subscription.add(this.id, this);
    if (this.#takePushed()) return;
    if (answer.deaf) subscription.restart();
    if (subscription.mayHaveMissed(this, sentAt)) return this.ask();
    this.askAt(position.nextAt);
  }

  protected failed(error: unknown): void {
    if (!wasAnswered(error)) this.#unansweredUntil = Math.max(this.#unansweredUntil, this.latest);
    if (this.settled || this.#takePushed() || this.#takeLate()) return;
    if (this.asksAgain(error, this.#waits || this.adopts !== undefined)) return;
    if (this.#unansweredUntil === 0 && this.place === 0) this.#known = false;
    this.fail(error);
  }

  // Pausing.

  ask(within?: number): void {
    // Drawing again at the next gap would bring the questions of all closer together.
    const isSoon = this.#spread;
    this.#spread = true;
    if (within === undefined) this.askNow();
    else if (!isSoon) this.timer?.advance(now() + Math.random() * within);
  }

  granted(fence: number, serverTime: number): void {
    if (this.settled) return;
    this.#position ??= new QueuePosition(this.spec.settings.ttl);
    this.#position.granted(fence, serverTime);
    // A command in flight decides. Else, after a long sleep, perhaps it still holds.
    if (this.pauses && !this.#takePushed()) this.ask();
  }

  leaseEnds(at: number, serverTime: number): void {
    const position = this.#position ??= new QueuePosition(this.spec.settings.ttl);
    position.leaseEnds(at, serverTime, now());
    // Before the first answer only the next attempt is set, and must stay.
    if (this.pauses && this.place !== 0) this.askAt(position.nextAt);
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

  protected timeOut(): void {
    // A waiter whose last command was answered just waited.
    const cause = this.obstacle(!this.pauses && (this.place === 0 || this.retry.silence > SILENCE));
    this.cancel(timedOutError(this.spec, this.timeout, cause), "timeout");
  }

  /** The call does not wait, and the resource is not free. */
  #refuse(): void {
    this.#known = false;
    this.refuse(undefined);
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
    this.resolve(lease);
    if (hook !== undefined) hook.grant(this.spec.resource, this, weight);
  }

  protected cleanUp(): void {
    this.spec.client.subscription.delete(this.id);
    // Now, so that no later command of this process finds a trace.
    if (this.pauses) this.#releaseById();
  }

  protected override ended(): void {
    this.#releaseById();
  }

  #releaseById(): void {
    if (!this.#known) return;
    this.#known = false;
    const until = now() + livenessOf(this.spec.settings.ttl);
    void releaseInBackground(this.spec, this.id, { until, inFlightUntil: this.#unansweredUntil });
  }
}
