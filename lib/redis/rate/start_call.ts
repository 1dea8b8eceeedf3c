/**
 * One call that starts within a rate limit, from its command to its turn or its end, and the starts of a limit in this
 * process: an answer takes its time, and timers fire late, so a start that is late and a next one that is not would be
 * closer together than their turns.
 *
 * Invariants: one command, unless it fails or comes too late by the server's clock; a turn that the call does not use,
 * because it gave up, is given back; the starts of this process keep to the limit by its own clock, too, and to the order
 * of their turns.
 *
 * @module
 */
import { isClockReplaced } from "../../internal/cancellation.ts";
import { hook } from "../../internal/hook.ts";
import { onceFor } from "../../internal/once.ts";
import { StartLog } from "../../internal/start_log.ts";
import type { WaitOptions } from "../../types.ts";
import type { Client } from "../client.ts";
import { LocalTimer, SteadyClock } from "../clock.ts";
import { explain, UselessAnswerError } from "../errors.ts";
import type { Moment } from "../lease/lease_deadline.ts";
import type { CallSpec } from "../resource_spec.ts";
import { MemoryData } from "../store/memory_data.ts";
import type { StartAnswer, StartRequest, StoredRate, Turn } from "./rate_store.ts";
import { now, SINGLE_COMMAND, STARTS_KEPT, TRYING } from "../times.ts";
import { ServerCall, timedOutError } from "../acquire/server_call.ts";

export interface RateSpec extends StoredRate, CallSpec {
  /** Set with the first start of the object. */
  local?: LocalStarts;
}

/** More than lie between the end of a call in here and its caller. */
const MICROTASKS = 8;

/** Of one client, as many objects may stand for one limit: `limiter.at(key)` makes a new one with each call. */
const startsOf = onceFor((_: Client) => new MemoryData<LocalStarts>());

function localStartsOf(rate: RateSpec): LocalStarts {
  const { client, keys: [key], limit, interval } = rate;
  return startsOf(client).of(`${limit} ${interval} ${key}`, () => new LocalStarts(rate));
}

/** Resolves once the call may start. */
export function startWithin(spec: RateSpec, permits: number, limits: WaitOptions = {}): Promise<boolean> {
  return new StartCall(spec, permits, limits, true).result;
}

/** Starts now, or resolves to false. */
export function tryStart(spec: RateSpec, permits: number): Promise<boolean> {
  return new StartCall(spec, permits, { timeout: 0 }, false).result;
}

/** The milliseconds until a call could start. */
export async function waitOf(spec: RateSpec, permits: number): Promise<number> {
  const request = { rate: spec, permits, within: -1, latest: 0, settled: false };
  try {
    const answer = await spec.client.store.rates.start(request, SINGLE_COMMAND);
    return answer.kind === "later" ? Math.ceil(answer.wait) : 0;
  } catch (error) {
    throw explain(`look at ${spec.what}`, error);
  }
}

class StartCall extends ServerCall<StartAnswer, boolean> implements StartRequest {
  readonly rate: RateSpec;
  within = 0;
  /** Of its turn: the order of the calls, modulo 2^32. */
  place = 0;
  /** Its turn has come. */
  isDue = false;
  /** Whether a call without a turn rejects, or resolves to false. */
  readonly #rejects: boolean;
  #turn: Turn | undefined;

  constructor(rate: RateSpec, permits: number, limits: WaitOptions, rejects: boolean) {
    super(rate, permits, limits, TRYING);
    this.rate = rate;
    this.#rejects = rejects;
    this.begin(limits.signal);
  }

  // Asking.

  protected send(sent: Moment, limit: number): Promise<StartAnswer> {
    const { client: { store }, clock } = this.rate;
    this.within = this.timeout === 0 ? 0 : this.retry.endsAt - sent.at;
    this.latest = clock.known ? clock.at(sent.at + limit) : 0;
    return store.rates.start(this, limit, (answer) => {
      if (answer.kind === "turn") this.#giveBack(answer.turn); // another command may have brought one since
    });
  }

  protected take(answer: StartAnswer): void {
    if (answer.kind === "turn") {
      if (this.settled) return this.#giveBack(answer.turn);
      return this.#wait(answer.turn);
    }
    if (this.settled) return;
    if (answer.kind === "later") return this.#refuse(answer.wait);
    // Too late by the server's clock, which is known better now.
    if (!this.retry.refused()) throw new UselessAnswerError("the command came too late by the server's clock");
    this.askNow();
  }

  protected failed(error: unknown): void {
    if (!this.settled && !this.asksAgain(error, this.timeout !== 0)) this.fail(error);
  }

  // Waiting for its turn.

  #wait(turn: Turn): void {
    const local = this.rate.local ??= localStartsOf(this.rate);
    const localWait = local.waitFor(this.permits);
    if (localWait > 0 && now() + localWait > this.retry.endsAt) { // a server that has lost the starts of this process
      this.#giveBack(turn);
      return this.#refuse(localWait);
    }
    this.#turn = turn;
    this.place = turn.start;
    local.add(this);
    if (turn.wait === 0) return this.#due();
    this.reportWait();
    if (!this.settled) this.awaitTurn(); // else an observer has cancelled it
  }

  /** Its turn is to come, and no timer says when: its clock is gone. */
  get isStuck(): boolean {
    return !this.settled && !this.isDue && (this.timer?.at ?? Infinity) === Infinity;
  }

  /** Sets its timer. */
  awaitTurn(): void {
    this.askAt(now() + this.#turn!.wait);
  }

  protected override onTime(): void {
    if (this.#turn === undefined) return super.onTime();
    this.rate.local!.endTurn();
    this.#due();
  }

  #due(): void {
    this.isDue = true;
    this.rate.local!.serve();
  }

  // Settled.

  start(): void {
    this.#turn = undefined;
    this.resolve(true);
    if (hook !== undefined) hook.grant(this.rate.resource, this, this.permits);
  }

  #refuse(wait: number): void {
    if (!this.#rejects) return this.refuse(false);
    const more = `; its turn would come after ${Math.ceil(wait)} ms`;
    this.cancel(timedOutError(this.rate, this.timeout, undefined, more), "timeout");
  }

  protected timeOut(): void {
    if (!this.#rejects && this.#turn !== undefined) return this.refuse(false);
    const cause = this.obstacle(this.#turn === undefined);
    if (this.#rejects) this.cancel(timedOutError(this.rate, this.timeout, cause), "timeout");
    else this.cancel(this.explained(cause), "error");
  }

  protected cleanUp(): void {
    if (this.#turn === undefined) return;
    this.#giveBack(this.#turn);
    this.rate.local!.serve(); // those behind it may be waiting for it
  }

  /** No caller waits for it; without an answer, the start counts as made. */
  #giveBack(turn: Turn): void {
    this.rate.client.store.rates.giveBack(this.rate, this.permits, turn, SINGLE_COMMAND).catch(() => {});
  }
}

/** A call that has its turn from the server. */
type LocalStart = Pick<StartCall, "permits" | "place" | "isDue" | "isStuck" | "settled" | "start" | "awaitTurn">;

/** The starts of one limit in this process. */
export class LocalStarts {
  readonly #log: StartLog;
  /** By turn. Those that have given up go when they are the first. */
  readonly #calls: LocalStart[] = [];
  readonly #clock = new SteadyClock();
  /** For which #timer was set last. */
  #readyAt = 0;
  readonly #timer = new LocalTimer(() => {
    this.endTurn();
    this.serve(this.#readyAt);
  }, true);

  constructor({ limit, interval }: { readonly limit: number; readonly interval: number }) {
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

  /** Ends the turn when a timer of a replaced clock fires, which may be within it. On a real clock it is over by then. */
  endTurn(): void {
    if (isClockReplaced()) this.#log.endTurn();
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
    await this.#log.settled(MICROTASKS + 1); // no clock of a test takes it along
    this.#log.goOn(this.#clock.now());
  }
}
