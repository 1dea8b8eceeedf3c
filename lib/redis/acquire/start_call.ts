/**
 * One call that starts within a rate limit, from its command to its turn or its end. Invariants: one command, unless it
 * fails or comes too late by the server's clock; a turn that the call does not use, because it gave up, is given back.
 *
 * @module
 */
import { type Cancellable, type CancelOutcome, CancelRegistration, timedOut } from "../../internal/cancellation.ts";
import type { WaitLimits } from "../../internal/check.ts";
import { type GiveUpOutcome, hook, type Resource } from "../../internal/hook.ts";
import { onceFor } from "../../internal/once.ts";
import { StartLog } from "../../internal/start_log.ts";
import { LocalTimer, SteadyClock } from "../clock.ts";
import type { Client } from "../client.ts";
import { explain, UselessAnswerError } from "../errors.ts";
import { MemoryData } from "../store/memory_data.ts";
import type { StartAnswer, StoredRate, Turn } from "../store/rate.ts";
import { now, ONE_ATTEMPT, SINGLE_COMMAND, STARTS_KEPT, TRYING } from "../times.ts";
import { RetryPolicy } from "./retry_policy.ts";

export interface RateSpec extends StoredRate {
  readonly client: Client;
  readonly resource: Resource;
  /** Identifies the limit, with its numbers, among those of the client. */
  readonly window: Window;
  /** Set with the first start of the object. */
  local?: LocalStarts;
}

interface Window {
  readonly keys: readonly [string];
  readonly limit: number;
  readonly interval: number;
}

/** More than lie between the end of a call in here and its caller. */
const MICROTASKS = 8;

/** A call that has its turn from the server. */
interface LocalStart {
  readonly permits: number;
  /** Of its turn: the order of the calls, modulo 2^32. */
  readonly place: number;
  /** Its turn has come. */
  readonly isDue: boolean;
  /** Its turn is to come, and no timer says when: its clock is gone. */
  readonly isStuck: boolean;
  readonly settled: boolean;
  start(): void;
  /** Sets its timer. */
  awaitTurn(): void;
}

/**
 * The starts of one limit in this process. An answer takes its time, and timers fire late: a start that is late and a next
 * one that is not would be closer together than their turns. Invariants: the starts of this process keep to the limit by
 * its own clock, too, and to the order of their turns.
 */
export class LocalStarts {
  readonly #log: StartLog;
  /** By turn. Those that have given up go when they are the first. */
  readonly #calls: LocalStart[] = [];
  readonly #clock = new SteadyClock();
  /** For which #timer was set last. */
  #readyAt = 0;
  readonly #timer = new LocalTimer(() => this.serve(this.#readyAt), true);

  constructor({ limit, interval }: Pick<Window, "limit" | "interval">) {
    this.#log = new StartLog(limit, interval);
  }

  /** Whether it says little about later starts, and can go unless an object keeps it. */
  get isOver(): boolean {
    const { granted, end, interval } = this.#log;
    const kept = end - interval + Math.min(interval, STARTS_KEPT);
    return this.#calls.length + granted === 0 && kept <= this.#clock.now();
  }

  /** Milliseconds until a call can start, at the earliest. */
  waitFor(permits: number): number {
    return this.#log.readyAt(permits) - this.#clock.now();
  }

  add(call: LocalStart): void {
    this.#clock.now(); // a step back since the last call is none of the time that this one waits
    this.#wakeStuck();
    let index = this.#calls.length;
    // The answers come in the order of the turns.
    while (index > 0 && (this.#calls[index - 1]!.place - call.place | 0) > 0) index--;
    this.#calls.splice(index, 0, call);
  }

  /** Starts the first calls whose turns have come, at that time or now. */
  serve(reached?: number): void {
    for (let first = this.#calls[0]; first !== undefined; first = this.#calls[0]) {
      if (!first.settled) {
        if (!first.isDue) return this.#wakeStuck();
        const time = this.#clock.now(reached);
        if (!this.#log.tryAdd(first.permits, time)) return this.#wait(this.#log.readyAt(first.permits), time);
        if (this.#log.granted === 0) void this.#goOn();
        this.#log.grant(first.permits, time);
      }
      this.#calls.shift();
      if (!first.settled) first.start();
    }
    this.#timer.clear();
  }

  /** Where the first one is stuck, others may be: all wait for their turns side by side, from now on. */
  #wakeStuck(): void {
    if (!this.#calls[0]?.isStuck) return;
    for (const call of this.#calls) if (call.isStuck) call.awaitTurn();
  }

  #wait(readyAt: number, time: number): void {
    this.#readyAt = readyAt;
    this.#timer.set(now() + readyAt - time);
  }

  /** The callers go on a few microtasks later, and that is their start. */
  async #goOn(): Promise<void> {
    for (let step = 0; step <= MICROTASKS; step++) await undefined; // no clock of a test takes it along
    this.#log.goOn(this.#clock.now());
  }
}

/** Of one client, as many objects may stand for one limit: `limiter.at(key)` makes a new one with each call. */
const startsOf = onceFor((_: Client) => new MemoryData((window: Window) => new LocalStarts(window)));

/** Resolves once the call may start. */
export function startWithin(spec: RateSpec, permits: number, limits: WaitLimits | undefined): Promise<boolean> {
  return new StartCall(spec, permits, limits?.timeout ?? Infinity, limits?.signal, true).result;
}

/** Starts now, or resolves to false. */
export function tryStart(spec: RateSpec, permits: number): Promise<boolean> {
  return new StartCall(spec, permits, 0, undefined, false).result;
}

/** The milliseconds until a call could start. */
export async function waitOf(spec: RateSpec, permits: number): Promise<number> {
  const request = { rate: spec, permits, within: -1, latest: 0, settled: false };
  try {
    const answer = await spec.client.store.start(request, SINGLE_COMMAND);
    return answer.kind === "later" ? Math.ceil(answer.wait) : 0;
  } catch (error) {
    throw explain(`look at ${spec.what}`, error);
  }
}

class StartCall implements Cancellable<CancelRegistration>, LocalStart {
  readonly result: Promise<boolean>;
  readonly #spec: RateSpec;
  readonly permits: number;
  place = 0;
  isDue = false;
  readonly #timeout: number;
  /** Whether a call without a turn rejects, or resolves to false. */
  readonly #rejects: boolean;
  readonly #endsAt: number;
  readonly #retry: RetryPolicy;
  readonly #limits: CancelRegistration;
  /** Of its turn, or of the next command after one that failed. */
  readonly #timer = new LocalTimer(() => this.#turn === undefined ? this.#endPause?.() : this.#due(), true);
  #pause: Promise<void> | undefined;
  #endPause: (() => void) | undefined;
  #turn: Turn | undefined;
  settled = false;
  #resolve!: (started: boolean) => void;
  #reject!: (error: unknown) => void;

  constructor(spec: RateSpec, permits: number, timeout: number, signal: AbortSignal | undefined, rejects: boolean) {
    const least = timeout === 0 ? ONE_ATTEMPT : timeout;
    this.#spec = spec;
    this.permits = permits;
    this.#timeout = timeout;
    this.#rejects = rejects;
    this.#endsAt = now() + least;
    this.#retry = new RetryPolicy(TRYING, this.#endsAt, timeout === Infinity && signal === undefined);
    this.#limits = new CancelRegistration(this);
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    if (hook !== undefined) hook.begin(this);
    this.#limits.begin({ signal, timeout: least });
    void this.#run();
  }

  async #run(): Promise<void> {
    while (!this.settled && this.#turn === undefined) {
      try {
        this.#take(await this.#send());
      } catch (error) {
        if (!this.settled) this.#failed(error);
      }
      if (!this.settled && this.#endPause !== undefined) await this.#pause;
    }
  }

  #send(): Promise<StartAnswer> {
    const { client: { store }, clock } = this.#spec;
    const limit = this.#retry.begin();
    const time = now();
    const request = {
      rate: this.#spec,
      permits: this.permits,
      within: this.#timeout === 0 ? 0 : this.#endsAt - time,
      latest: clock.known ? clock.at(time + limit) : 0,
      isOver: () => this.settled,
      get settled(): boolean {
        return this.isOver();
      },
    };
    return store.start(request, limit, (answer) => {
      if (answer.kind === "turn") this.#giveBack(answer.turn); // another command may have brought one since
    });
  }

  #take(answer: StartAnswer): void {
    if (answer.kind === "turn") {
      if (this.settled) return this.#giveBack(answer.turn);
      return this.#wait(answer.turn);
    }
    if (this.settled) return;
    if (answer.kind === "later") return this.#refuse(answer.wait);
    // Too late by the server's clock, which is known better now.
    if (!this.#retry.refused()) throw new UselessAnswerError("the command came too late by the server's clock");
  }

  #wait(turn: Turn): void {
    const { client, window, resource } = this.#spec;
    const local = this.#spec.local ??= startsOf(client).of(window);
    const localWait = local.waitFor(this.permits);
    if (localWait > 0 && now() + localWait > this.#endsAt) { // a server that has lost the starts of this process
      this.#giveBack(turn);
      return this.#refuse(localWait);
    }
    this.#turn = turn;
    this.place = turn.start;
    local.add(this);
    if (turn.wait === 0) return this.#due();
    if (hook !== undefined) hook.wait(resource, this, this.permits);
    this.awaitTurn();
  }

  get isStuck(): boolean {
    return !this.settled && !this.isDue && this.#timer.at === Infinity;
  }

  awaitTurn(): void {
    this.#timer.set(now() + this.#turn!.wait);
  }

  #due(): void {
    this.isDue = true;
    this.#spec.local!.serve();
  }

  start(): void {
    this.#turn = undefined;
    this.#settle(() => this.#resolve(true));
    if (hook !== undefined) hook.grant(this.#spec.resource, this, this.permits);
  }

  #refuse(wait: number): void {
    if (!this.#rejects) return this.#settle(() => this.#resolve(false));
    this.#cancel(this.#timedOut(`; its turn would come after ${Math.ceil(wait)} ms`), "timeout");
  }

  #failed(error: unknown): void {
    const againAt = this.#retry.failed(error);
    const mayPass = this.#spec.client.store.mayPass(error);
    if (this.#timeout !== 0 && mayPass && againAt !== undefined) return this.#pauseUntil(againAt);
    if (this.#rejects && this.#timeout === 0 && mayPass) {
      return this.#cancel(this.#timedOut("", this.#retry.failure), "timeout");
    }
    this.#cancel(explain(`acquire ${this.#spec.what}`, this.#retry.failure), "error");
  }

  #pauseUntil(at: number): void {
    this.#pause = new Promise((resolve) => {
      this.#endPause = () => {
        this.#endPause = undefined;
        resolve();
      };
    });
    this.#timer.set(at);
  }

  // As one that can be cancelled.

  settle({ reason }: CancelRegistration, outcome: CancelOutcome): void {
    if (outcome === "aborted") return this.#cancel(reason, outcome);
    if (!this.#rejects && this.#turn !== undefined) return this.#settle(() => this.#resolve(false));
    const { silence, failure } = this.#retry;
    const isSilent = this.#turn === undefined;
    const cause = failure ?? (isSilent ? this.#spec.client.store.silence(silence) : undefined);
    if (this.#rejects) this.#cancel(this.#timedOut("", cause), "timeout");
    else this.#cancel(explain(`acquire ${this.#spec.what}`, cause), "error");
  }

  afterLeave(): void {}

  #timedOut(more: string, cause?: unknown): Error {
    const holder = more || (hook?.holderOf(this.#spec.resource) ?? "");
    return timedOut(`acquire ${this.#spec.what}`, this.#timeout, holder, cause === undefined ? undefined : { cause });
  }

  #cancel(reason: unknown, outcome: GiveUpOutcome): void {
    if (this.settled) return;
    this.#settle(() => this.#reject(reason));
    if (hook !== undefined) hook.giveUp(this.#spec.resource, this, outcome, this.permits);
  }

  #settle(settle: () => void): void {
    this.settled = true;
    this.#limits.end();
    this.#timer.clear();
    if (this.#turn !== undefined) {
      this.#giveBack(this.#turn);
      this.#spec.local!.serve(); // those behind it may be waiting for it
    }
    settle();
    this.#endPause?.();
  }

  /** No caller waits for it; without an answer, the start counts as made. */
  #giveBack(turn: Turn): void {
    this.#spec.client.store.giveBack(this.#spec, this.permits, turn, SINGLE_COMMAND).catch(() => {});
  }
}
