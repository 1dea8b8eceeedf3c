/**
 * One call that acquires, from its first command to its lease or its end. Invariants: the commands of one id run one
 * after the other, never side by side; the call settles in one synchronous step, granted or cancelled; after a
 * cancellation, whatever Redis may know of the id is released in the background.
 *
 * @module
 */
import { TimeoutError } from "../../errors.ts";
import { type GiveUpOutcome, hook } from "../../internal/hook.ts";
import type { WaitOptions } from "../../types.ts";
import { crowdOf } from "./abort.ts";
import { acquireArguments, livenessOf, NotifyMode } from "./acquire_arguments.ts";
import { codeOf, explain, NoAnswerError, RedisError } from "../errors.ts";
import { releaseInBackground } from "./release_by_id.ts";
import { HeldLease, trusted } from "./held_lease.ts";
import type { Lease } from "../lease.ts";
import { QueuePosition } from "./queue_position.ts";
import { RetryPolicy } from "./retry_policy.ts";
import type { Listener } from "./subscription.ts";
import type { RedisConnection } from "./connection.ts";
import type { ResourceSpec } from "./resource_spec.ts";
import { Alarm, now } from "./clock.ts";

/** Waits in the queue. */
export function acquire(connection: RedisConnection, spec: ResourceSpec, options: WaitOptions = {}): Promise<Lease> {
  const { signal, timeout = Infinity } = options;
  if (signal?.aborted) return Promise.reject(signal.reason);
  if (timeout !== 0) return new Acquisition(connection, spec, true, timeout, signal).lease as Promise<Lease>;
  // Tries once without waiting: the round trip to Redis is not waiting, but is bounded as well.
  return new Acquisition(connection, spec, false, 0, signal).lease.then((lease) => {
    if (lease) return lease;
    throw new TimeoutError(`Cannot acquire ${spec.what}: it is not free, and the timeout is 0 ms`);
  });
}

/** Tries once, without joining the queue. */
export function tryAcquire(connection: RedisConnection, spec: ResourceSpec): Promise<Lease | undefined> {
  return new Acquisition(connection, spec, false, Infinity, undefined).lease;
}

/** Milliseconds that the only round trip of a call with `timeout: 0` may take. */
const ONE_ATTEMPT = 1000;

/** A command without an answer for less than this says nothing about the connection. */
const SILENCE = 100;

/** The object itself is the `call` by which the hook knows this acquisition and then its lease. */
class Acquisition implements Listener {
  readonly lease: Promise<Lease | undefined>;
  readonly queue: string;
  readonly #connection: RedisConnection;
  readonly #spec: ResourceSpec;
  readonly #waits: boolean;
  readonly #timeout: number;
  readonly #signal: AbortSignal | undefined;
  readonly #id: string;
  readonly #retry: RetryPolicy;
  readonly #position: QueuePosition;
  #resolve!: (lease: Lease | undefined) => void;
  #reject!: (error: unknown) => void;
  #settled = false;
  /** Ends the pause between two commands; undefined while a command is in flight. */
  #wake: (() => void) | undefined;
  /** To ask again without a pause. */
  #asked = false;
  /** Asked because messages may have been missed, as were many others. */
  #spread = false;
  /** Server time until which a command whose answer never came may still run. */
  #inFlightUntil = 0;
  /** Redis may know this id. */
  #known = false;
  readonly #next = new Alarm(() => this.#wake?.(), true);
  readonly #end = new Alarm(() => this.#timeOut(), true);
  readonly #isSettled = () => this.#settled;
  readonly #onAbort = () => this.#cancel(this.#signal?.reason, "aborted");

  constructor(
    connection: RedisConnection,
    spec: ResourceSpec,
    waits: boolean,
    timeout: number,
    signal: AbortSignal | undefined,
  ) {
    const { ttl } = spec.settings;
    const endsAt = now() + (timeout === 0 ? ONE_ATTEMPT : timeout);
    const endless = timeout === Infinity && signal === undefined;
    this.#connection = connection;
    this.#spec = spec;
    this.queue = spec.keys[1];
    this.#waits = waits;
    this.#timeout = timeout;
    this.#retry = new RetryPolicy(ttl, endsAt, endless);
    this.#position = new QueuePosition(ttl);
    this.#signal = signal;
    this.#id = connection.newId();
    this.lease = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    if (hook !== undefined) hook.begin(this);
    this.#end.set(endsAt);
    if (signal !== undefined) crowdOf(signal).add(this.#onAbort);
    void this.#run();
  }

  // As a listener.

  granted(fence: number, serverTime: number): void {
    if (this.#settled) return;
    this.#position.granted(fence, serverTime);
    // A command in flight decides. Else, after a long sleep, perhaps it still holds.
    if (this.#wake !== undefined && !this.#takePushedGrant()) this.ask();
  }

  leaseEnds(at: number, serverTime: number): void {
    this.#position.leaseEnds(at, serverTime, now());
    if (this.#wake !== undefined) this.#next.set(this.#position.nextAt);
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
        if (!await this.#attempt()) continue; // it came too late, so this was no answer
        this.#retry.answered();
      } catch (error) {
        if (this.#settled) break;
        this.#failed(error);
      }
      if (!this.#settled && !this.#asked) await this.#pause();
    }
    this.#releaseById();
  }

  /** Returns whether the command came in time. */
  async #attempt(): Promise<boolean> {
    const sentAt = now();
    const limit = this.#retry.begin();
    const latest = this.#connection.serverTime(sentAt + limit);
    const { family, keys } = this.#spec;
    const mode = this.#waits ? this.#connection.subscription.mode : NotifyMode.none;
    const args = acquireArguments(this.#spec, this.#id, latest, mode, this.#position.place);
    const inFlightUntil = this.#inFlightUntil;
    this.#known = true;
    this.#inFlightUntil = Math.max(inFlightUntil, latest);
    // A push can arrive sooner than the answer.
    if (this.#waits && this.#connection.subscription.live) this.#connection.subscription.add(this.#id, this);
    try {
      const answer = await this.#connection.run(family.acquire, keys, args, limit, this.#isSettled) as unknown[];
      this.#inFlightUntil = inFlightUntil;
      return this.#take(answer.map(Number), sentAt, mode);
    } catch (error) {
      if (codeOf(error) !== "") this.#inFlightUntil = inFlightUntil; // refused, so it did not run
      throw error;
    }
  }

  #take(answer: number[], sentAt: number, mode: NotifyMode): boolean {
    const [code = NaN, first = 0, second = 0] = answer;
    const { what, limit, settings: { ttl } } = this.#spec;
    if (code === -3) {
      throw new RedisError(
        `Cannot acquire ${what}: it is in use with ${first} permits elsewhere, with ${limit} permits here`,
      );
    }
    if (![1, 0, -2].includes(code)) throw new NoAnswerError(`the answer has an unknown code, ${code}`);
    this.#connection.sawTime(code === 1 ? second : first);
    if (code === -2) {
      // Too late by the server's clock, which is known better now.
      if (this.#retry.refused()) return false;
      throw new NoAnswerError("the command came too late by the server's clock");
    }
    if (code === 1) this.#takeGrant(first, sentAt + trusted(ttl));
    else if (answer[5] === 1) this.#goOn(answer, sentAt, mode);
    else if (this.#waits) this.#queued(answer, sentAt, mode);
    else {
      this.#known = false;
      this.#settle(() => this.#resolve(undefined));
    }
    return true;
  }

  #takeGrant(fence: number, deadline: number): void {
    if (this.#settled) return;
    if (deadline <= now()) throw new NoAnswerError("the answer came after the lease had ended");
    const { subscription } = this.#connection;
    const missed = this.#position.place !== 0 && this.#spec.limit > 1;
    this.#grant(fence, deadline);
    if (missed) subscription.askNext(this.queue); // it may hold as well
  }

  /** One run is bounded, and there was more to do: asks again at once. */
  #goOn(answer: number[], sentAt: number, mode: NotifyMode): void {
    if (answer[2] !== 0) this.#queued(answer, sentAt, mode);
    this.#asked = true;
  }

  #queued([, serverTime = 0, place = 0, askAt = 0, deaf = 0]: number[], sentAt: number, mode: NotifyMode): void {
    const { subscription } = this.#connection;
    const first = this.#position.place === 0;
    this.#position.queued({ place, serverTime, askAt, sentAt, mode, spread: this.#spread }, now());
    this.#spread = false;
    if (this.#settled) return;
    if (first && hook !== undefined) hook.wait(this.#spec.resource, this, this.#spec.weight);
    subscription.add(this.#id, this);
    if (this.#takePushedGrant()) return;
    if (deaf === 1) subscription.restart();
    if (subscription.mayHaveMissed(this.#id, this.queue, sentAt)) return this.ask();
    this.#next.set(this.#position.nextAt);
  }

  #failed(error: unknown): void {
    if (this.#takePushedGrant()) return;
    const againAt = this.#retry.failed(error);
    const mayPass = this.#connection.mayPass(error);
    if (this.#waits && mayPass && againAt !== undefined) return this.#next.set(againAt);
    if (this.#inFlightUntil === 0 && this.#position.place === 0) this.#known = false;
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
    const grant = {
      id: this.#id,
      fence,
      deadline,
      inFlightUntil: this.#inFlightUntil,
      keptFor: livenessOf(ttl) - ttl,
      call: this,
    };
    if (hook !== undefined) hook.grant(resource, this, weight);
    const lease = new HeldLease(this.#connection, this.#spec, grant);
    this.#settle(() => this.#resolve(lease));
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
    if (hook !== undefined) hook.giveUp(this.#spec.resource, this, outcome);
    this.#settle(() => this.#reject(reason));
  }

  #settle(settle: () => void): void {
    this.#settled = true;
    this.#next.clear();
    this.#end.clear();
    if (this.#signal !== undefined) crowdOf(this.#signal).delete(this.#onAbort);
    this.#connection.subscription.delete(this.#id);
    // Before the caller continues, so that no later command of this process finds a trace.
    if (this.#wake) this.#releaseById();
    settle();
    this.#wake?.();
  }

  #releaseById(): void {
    if (!this.#known) return;
    this.#known = false;
    releaseInBackground(this.#connection, this.#spec, this.#id, {
      act: `release ${this.#spec.what}`,
      until: now() + livenessOf(this.#spec.settings.ttl),
      inFlightUntil: this.#inFlightUntil,
    });
  }
}
