/**
 * One call that acquires, from its first command to its lease or its end. Invariants: the call settles in one synchronous
 * step, granted or cancelled; after a cancellation, the id is released in the background if Redis may know it.
 *
 * @module
 */
import { TimeoutError } from "../../errors.ts";
import { CancelRegistration } from "../../internal/cancellation.ts";
import type { CancelOutcome } from "../../internal/cancellation.ts";
import { type GiveUpOutcome, hook } from "../../internal/hook.ts";
import { livenessOf, NotifyMode } from "./acquire_arguments.ts";
import { AcquireCommand, type Answer, type Waiting } from "./acquire_command.ts";
import { now, Timer } from "./clock.ts";
import type { RedisConnection } from "./connection.ts";
import { explain, NoAnswerError } from "../errors.ts";
import { HeldLease } from "./held_lease.ts";
import { moment, trusted } from "./lease_deadline.ts";
import type { Lease } from "../lease.ts";
import type { Listener } from "./listeners.ts";
import { QueuePosition } from "./queue_position.ts";
import { releaseInBackground } from "./release_by_id.ts";
import type { ResourceSpec } from "./resource_spec.ts";
import { RetryPolicy } from "./retry_policy.ts";

/** Milliseconds that the only round trip of a call with `timeout: 0` may take. */
const ONE_ATTEMPT = 1000;

/** A command without an answer for less than this says nothing about the connection. */
const SILENCE = 100;

/** The object itself is the `call` by which the hook knows this acquisition, and then its lease. */
export class Acquisition implements Listener {
  readonly lease: Promise<Lease | undefined>;
  readonly queue: string;
  readonly #connection: RedisConnection;
  readonly #spec: ResourceSpec;
  readonly #waits: boolean;
  readonly #timeout: number;
  readonly #command: AcquireCommand;
  readonly #retry: RetryPolicy;
  readonly #position: QueuePosition;
  readonly #limits: CancelRegistration;
  #resolve!: (lease: Lease | undefined) => void;
  #reject!: (error: unknown) => void;
  #settled = false;
  /** The clocks' difference when the last command with an answer was sent. */
  #gap = 0;
  /** Redis may know the id. */
  #known = false;
  /** Ends the pause between two commands; undefined while a command is in flight. */
  #wake: (() => void) | undefined;
  readonly #next = new Timer(() => this.#wake?.(), true);
  /** To ask again without a pause. */
  #asked = false;
  /** Asked because messages may have been missed, as were many others. */
  #spread = false;

  constructor(
    connection: RedisConnection,
    spec: ResourceSpec,
    waits: boolean,
    timeout: number,
    signal: AbortSignal | undefined,
  ) {
    const { ttl } = spec.settings;
    const least = timeout === 0 ? ONE_ATTEMPT : timeout;
    this.#connection = connection;
    this.#spec = spec;
    this.queue = spec.keys[1];
    this.#waits = waits;
    this.#timeout = timeout;
    this.#command = new AcquireCommand(connection, spec);
    this.#retry = new RetryPolicy(ttl, now() + least, timeout === Infinity && signal === undefined);
    this.#position = new QueuePosition(ttl);
    this.lease = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    if (hook !== undefined) hook.begin(this);
    this.#limits = new CancelRegistration(this).begin({ signal, timeout: least });
    void this.#run();
  }

  // As one that can be cancelled.

  leave({ signal }: CancelRegistration, outcome: CancelOutcome): void {
    if (outcome === "aborted") this.#cancel(signal?.reason, outcome);
    else this.#timeOut();
  }

  afterLeave(): void {}

  // As a listener.

  granted(fence: number, serverTime: number): void {
    if (this.#settled) return;
    this.#position.granted(fence, serverTime);
    // A command in flight decides. Else, after a long sleep, perhaps it still holds.
    if (this.#wake !== undefined && !this.#takePushedGrant()) this.ask();
  }

  leaseEnds(at: number, serverTime: number): void {
    this.#position.leaseEnds(at, serverTime, now());
    // Before the first answer only the next attempt is set, and must stay.
    if (this.#wake !== undefined && this.#position.place !== 0) this.#next.set(this.#position.nextAt);
  }

  ask(within?: number): void {
    this.#spread = true;
    if (within !== undefined) return this.#next.advance(now() + Math.random() * within);
    this.#asked = true;
    this.#wake?.();
  }

  #takePushedGrant(): boolean {
    const grant = this.#position.takeGrant(now());
    if (grant !== undefined) this.#grant(grant.fence, grant.deadline);
    return grant !== undefined;
  }

  // The commands.

  async #run(): Promise<void> {
    while (!this.#settled) {
      this.#asked = false;
      this.#position.asking();
      try {
        const { release } = this.#spec.family;
        if (!this.#connection.isReady(release)) await this.#connection.ready(release, this.#retry.begin());
        if (this.#settled) break;
        const { gap } = moment();
        const answer = await this.#send();
        this.#gap = gap;
        this.#take(answer);
      } catch (error) {
        if (this.#settled) break;
        this.#failed(error);
      }
      if (!this.#settled && !this.#asked) await this.#pause();
    }
    this.#releaseById();
  }

  #send(): Promise<Answer> {
    const { subscription } = this.#connection;
    const mode = this.#waits ? subscription.mode : NotifyMode.none;
    this.#known = true;
    // A push can arrive sooner than the answer.
    if (this.#waits && subscription.live) subscription.add(this.#command.id, this);
    return this.#command.send(mode, this.#position.place, this.#retry.begin(), () => this.#settled);
  }

  #take(answer: Answer): void {
    if (answer.kind === "refused") {
      // Too late by the server's clock, which is known better now.
      if (!this.#retry.refused()) throw new NoAnswerError("the command came too late by the server's clock");
      this.#asked = true;
      return;
    }
    if (answer.kind === "granted") this.#takeGrant(answer.fence, answer.sentAt + trusted(this.#spec.settings.ttl));
    else if (this.#waits && answer.place !== 0) this.#queued(answer);
    else if (!answer.more) {
      this.#known = false;
      this.#settle(() => this.#resolve(undefined));
    }
    if (answer.kind === "waiting" && answer.more) this.#asked = true;
    this.#retry.answered();
  }

  #takeGrant(fence: number, deadline: number): void {
    if (this.#settled) return;
    if (deadline <= now()) throw new NoAnswerError("the answer came after the lease had ended");
    const missed = this.#position.place !== 0 && this.#spec.limit > 1;
    this.#grant(fence, deadline);
    if (missed) this.#connection.subscription.askNext(this.queue); // it may hold as well
  }

  #queued(answer: Waiting): void {
    const { subscription } = this.#connection;
    const { id } = this.#command;
    const first = this.#position.place === 0;
    this.#position.queued(answer, this.#spread, now());
    this.#spread = false;
    if (this.#settled) return;
    if (first && hook !== undefined) hook.wait(this.#spec.resource, this, this.#spec.weight);
    subscription.add(id, this);
    if (this.#takePushedGrant()) return;
    if (answer.deaf) subscription.restart();
    if (subscription.mayHaveMissed(id, this.queue, answer.sentAt)) return this.ask();
    this.#next.set(this.#position.nextAt);
  }

  #failed(error: unknown): void {
    if (this.#takePushedGrant()) return;
    const againAt = this.#retry.failed(error);
    const mayPass = this.#connection.mayPass(error);
    if (this.#waits && mayPass && againAt !== undefined) return this.#next.set(againAt);
    if (this.#command.inFlightUntil === 0 && this.#position.place === 0) this.#known = false;
    // It may pass, but not within the only attempt.
    if (this.#timeout === 0 && mayPass) return this.#timeOut();
    this.#cancel(explain(`acquire ${this.#spec.what}`, this.#retry.failure), "error");
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined;
        this.#next.clear();
        resolve();
      };
    });
  }

  // The end.

  #grant(fence: number, deadline: number): void {
    this.#known = false;
    const { resource, weight, settings: { ttl } } = this.#spec;
    const { id, inFlightUntil } = this.#command;
    const grant = { id, fence, deadline, gap: this.#gap, inFlightUntil, keptFor: livenessOf(ttl) - ttl, call: this };
    const lease = new HeldLease(this.#connection, this.#spec, grant);
    this.#settle(() => this.#resolve(lease));
    if (hook !== undefined) hook.grant(resource, this, weight);
  }

  #timeOut(): void {
    // A waiter whose last command was answered just waited.
    const { silence } = this.#retry;
    const silent = this.#wake === undefined && (this.#position.place === 0 || silence > SILENCE);
    const failure = this.#retry.failure ?? (silent ? this.#connection.silence(silence) : undefined);
    const holder = hook === undefined ? "" : hook.holderOf(this.#spec.resource);
    const message = `Cannot acquire ${this.#spec.what}: timed out after ${this.#timeout} ms${holder}`;
    this.#cancel(new TimeoutError(message, failure === undefined ? undefined : { cause: failure }), "timeout");
  }

  #cancel(reason: unknown, outcome: GiveUpOutcome): void {
    if (this.#settled) return;
    this.#settle(() => this.#reject(reason));
    if (hook !== undefined) hook.giveUp(this.#spec.resource, this, outcome);
  }

  #settle(settle: () => void): void {
    this.#settled = true;
    this.#next.clear();
    this.#limits.end();
    this.#connection.subscription.delete(this.#command.id);
    // Before the caller continues, so that no later command of this process finds a trace.
    if (this.#wake) this.#releaseById();
    settle();
    this.#wake?.();
  }

  #releaseById(): void {
    if (!this.#known) return;
    this.#known = false;
    const { what, settings: { ttl } } = this.#spec;
    const until = now() + livenessOf(ttl);
    const { id, inFlightUntil } = this.#command;
    releaseInBackground(this.#connection, this.#spec, id, { operation: `release ${what}`, until, inFlightUntil });
  }
}
