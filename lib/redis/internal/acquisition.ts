/**
 * One call that wants a hold, from its first command to its lease or its end. Invariants: the commands of one id run
 * one after the other, never side by side; the call settles in one synchronous step, granted or given up; after giving
 * up, whatever Redis may know of the id is given back in the background.
 *
 * @module
 */
import { TimeoutError } from "../../errors.ts";
import type { WaitOptions } from "../../types.ts";
import { crowdOf } from "./abort.ts";
import { acquireArgs, beatOf, handedLease } from "./acquire_arguments.ts";
import { codeOf, explain, NoAnswerError, RedisError } from "../errors.ts";
import { forgetInBackground } from "./release_by_id.ts";
import { HeldLease, trusted } from "./held_lease.ts";
import type { Lease } from "../lease.ts";
import { Patience } from "./retry_policy.ts";
import type { Listener, Reach } from "./subscription.ts";
import type { Session } from "./session.ts";
import type { Target } from "./resource_spec.ts";
import { Alarm, now } from "./clock.ts";

/** Waits in line. */
export function claim(session: Session, target: Target, options: WaitOptions = {}): Promise<Lease> {
  const { signal, timeout = Infinity } = options;
  if (signal?.aborted) return Promise.reject(signal.reason);
  if (timeout !== 0) return new Claim(session, target, true, timeout, signal).lease as Promise<Lease>;
  // One attempt: the trip to Redis is not waiting, but is not without end either.
  return new Claim(session, target, false, 0, signal).lease.then((lease) => {
    if (lease) return lease;
    throw new TimeoutError(`Cannot acquire ${target.what}: it is not free, and the timeout is 0 ms`);
  });
}

/** One attempt, without standing in line. */
export function tryClaim(session: Session, target: Target): Promise<Lease | undefined> {
  return new Claim(session, target, false, Infinity, undefined).lease;
}

/** Milliseconds that the only trip of a call with `timeout: 0` may take. */
const ONE_ATTEMPT = 1000;

/** Where a command sent at `sentAt` got which server time as its answer. */
interface Place {
  readonly seq: number;
  readonly sentAt: number;
  readonly serverTime: number;
}

class Claim implements Listener {
  readonly lease: Promise<Lease | undefined>;
  readonly #session: Session;
  readonly #target: Target;
  readonly #waits: boolean;
  readonly #timeout: number;
  readonly #signal: AbortSignal | undefined;
  readonly #id: string;
  readonly #patience: Patience;
  #resolve!: (lease: Lease | undefined) => void;
  #reject!: (error: unknown) => void;
  #settled = false;
  #place: Place | undefined;
  /** A hand-over that was told of while a command was under way, perhaps the one that put us in line. */
  #told: { fence: number; serverTime: number } | undefined;
  /** Ends the pause between two commands; undefined while a command is under way. */
  #wake: (() => void) | undefined;
  /** How the last command said that we are told. */
  #reach: Reach | "t" = "t";
  #asked = false;
  /** Server time until when a command whose answer never came may still run. */
  #stray = 0;
  /** Whether Redis may know of this id. */
  #left = false;
  readonly #next = new Alarm(() => this.#wake?.(), true);
  readonly #end = new Alarm(() => this.#timeOut(), true);
  readonly #isSettled = () => this.#settled;
  readonly #onAbort = () => this.#giveUp(this.#signal?.reason);

  constructor(session: Session, target: Target, waits: boolean, timeout: number, signal: AbortSignal | undefined) {
    this.#session = session;
    this.#target = target;
    this.#waits = waits;
    this.#timeout = timeout;
    const endsAt = now() + (timeout === 0 ? ONE_ATTEMPT : timeout);
    this.#patience = new Patience(target.settings.ttl, endsAt, timeout === Infinity && signal === undefined);
    this.#signal = signal;
    this.#id = session.newId();
    this.lease = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#end.set(endsAt);
    if (signal !== undefined) crowdOf(signal).add(this.#onAbort);
    void this.#run();
  }

  // As a listener.

  granted(fence: number, serverTime: number): void {
    if (this.#settled) return;
    this.#told = { fence, serverTime };
    // The answer under way decides.
    if (this.#wake !== undefined && !this.#takeTold()) this.ask(); // we were asleep for too long: perhaps it is still ours
  }

  /** Takes what was handed over to us, if we know our place in line and the lease has not ended since. */
  #takeTold(): boolean {
    if (this.#told === undefined || this.#place === undefined) return false;
    const { fence, serverTime } = this.#told;
    // The lease began when it was handed over: as long after our last command as the server's clock says, and in any
    // case before now.
    const began = Math.min(this.#place.sentAt + (serverTime - this.#place.serverTime) / 1000, now());
    const deadline = began + trusted(this.#target.settings.ttl);
    if (deadline <= now()) return false;
    this.#grant(fence, deadline);
    return true;
  }

  ask(): void {
    this.#asked = true;
    this.#wake?.();
  }

  // The course of it.

  async #run(): Promise<void> {
    while (!this.#settled) {
      this.#asked = false;
      this.#told = undefined;
      try {
        const { release } = this.#target.family;
        if (!this.#session.isReady(release)) await this.#session.ready(release, this.#patience.begin());
        if (this.#settled) break;
        if (!await this.#attempt()) continue; // it came too late, so this was no answer
        this.#patience.answered();
      } catch (error) {
        if (this.#settled) break;
        this.#failed(error);
      }
      if (!this.#settled && !this.#asked) await this.#pause();
    }
    this.#forget();
  }

  /** Answers whether the command came in time. */
  async #attempt(): Promise<boolean> {
    const sentAt = now();
    const limit = this.#patience.begin();
    const latest = this.#session.serverTime(sentAt + limit);
    const { family, keys } = this.#target;
    this.#left = true;
    const stray = this.#stray;
    this.#stray = Math.max(stray, latest);
    const args = this.#args(latest);
    // From here on we may be told, which can be sooner than the answer comes.
    if (this.#reach === "p" || this.#reach === "u") this.#session.push.add(this.#id, this);
    try {
      const answer = await this.#session.run(family.acquire, keys, args, limit, this.#isSettled) as unknown[];
      this.#stray = stray;
      return this.#take(answer.map(Number), sentAt);
    } catch (error) {
      if (codeOf(error) !== "") this.#stray = stray; // refused, so it did not run
      throw error;
    }
  }

  #args(latest: number): string[] {
    this.#reach = this.#waits ? this.#session.push.reach : "t";
    return acquireArgs(this.#target, this.#id, latest, this.#reach, this.#place?.seq ?? 0);
  }

  #take([code = NaN, first = 0, second = 0, third = 0]: number[], sentAt: number): boolean {
    if (code === -3) {
      const { what, limit } = this.#target;
      throw new RedisError(
        `Cannot acquire ${what}: it is in use with ${first} permits elsewhere, with ${limit} permits here`,
      );
    }
    if (![1, 0, -2].includes(code)) throw new NoAnswerError(`the answer has a code that is not known, ${code}`);
    this.#session.sawTime(code === 1 ? second : first);
    if (code === -2) {
      // Too late by the server's clock, which we now know better.
      if (this.#patience.refused()) return false;
      throw new NoAnswerError("the command came too late by the server's clock");
    }
    if (code === 1) this.#takeGrant(first, sentAt + trusted(this.#target.settings.ttl));
    else if (this.#waits) this.#queued({ seq: second, sentAt, serverTime: first }, third);
    else {
      this.#left = false;
      this.#settle(() => this.#resolve(undefined));
    }
    return true;
  }

  #takeGrant(fence: number, deadline: number): void {
    if (this.#settled) return;
    if (deadline <= now()) throw new NoAnswerError("the answer came after the lease had ended");
    this.#grant(fence, deadline);
  }

  #queued(place: Place, nextEnd: number): void {
    this.#place = place;
    if (this.#settled) return;
    this.#session.push.add(this.#id, this);
    if (this.#takeTold()) return;
    // We can be told now, and could not when the command was sent.
    if (this.#reach === "h" && this.#session.push.reach !== "h") return this.ask();
    const beat = beatOf(this.#target);
    const untilEnd = (nextEnd - place.serverTime) / 1000 + 5;
    // Who is told asks only because the holder may have crashed: when its lease ends is soon enough.
    const wait = this.#reach !== "h" && untilEnd > beat && untilEnd < 2 * beat ? untilEnd : beat;
    // A little apart from the others in line.
    this.#next.set(place.sentAt + wait + Math.random() * Math.min(beat / 10, 100));
  }

  #failed(error: unknown): void {
    if (this.#takeTold()) return;
    const againAt = this.#patience.failed(error);
    const mayPass = this.#session.mayPass(error);
    if (this.#waits && mayPass && againAt !== undefined) return this.#next.set(againAt);
    if (this.#stray === 0 && this.#place === undefined) this.#left = false;
    // What stood in its way may pass, but its time is over.
    if (this.#timeout === 0 && mayPass) return this.#timeOut();
    this.#settle(() => this.#reject(explain(`acquire ${this.#target.what}`, this.#patience.failure)));
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

  // The end of it.

  #grant(fence: number, deadline: number): void {
    this.#left = false;
    const keptFor = handedLease(this.#target, this.#reach) - this.#target.settings.ttl;
    const grant = { id: this.#id, fence, deadline, inFlightUntil: this.#stray, keptFor, call: this };
    const lease = new HeldLease(this.#session, this.#target, grant);
    this.#settle(() => this.#resolve(lease));
  }

  #timeOut(): void {
    // One whose last command was answered just stood in line.
    const silent = this.#wake === undefined && (this.#place === undefined || this.#patience.since > 100);
    const failure = this.#patience.failure ?? (silent ? this.#session.silence() : undefined);
    this.#giveUp(
      new TimeoutError(
        `Cannot acquire ${this.#target.what}: timed out after ${this.#timeout} ms`,
        failure === undefined ? undefined : { cause: failure },
      ),
    );
  }

  #giveUp(reason: unknown): void {
    if (!this.#settled) this.#settle(() => this.#reject(reason));
  }

  #settle(settle: () => void): void {
    this.#settled = true;
    this.#next.clear();
    this.#end.clear();
    if (this.#signal !== undefined) crowdOf(this.#signal).delete(this.#onAbort);
    this.#session.push.delete(this.#id);
    // Before anybody is told, so that no later command of this process finds a trace.
    if (this.#wake) this.#forget();
    settle();
    this.#wake?.();
  }

  #forget(): void {
    if (!this.#left) return;
    this.#left = false;
    const { ttl } = this.#target.settings;
    forgetInBackground(this.#session, this.#target, this.#id, {
      act: `give back ${this.#target.what}`,
      until: now() + Math.max(ttl, 4 * beatOf(this.#target)),
      stray: this.#stray,
    });
  }
}
