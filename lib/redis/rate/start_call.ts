/**
 * One call that starts within a rate limit, from its command to its turn or its end. Invariants: one command, unless it
 * fails or comes too late by the server's clock; a turn that the call does not use, because it gave up, is given back.
 *
 * @module
 */
import { hook } from "../../internal/hook.ts";
import type { WaitOptions } from "../../types.ts";
import { explain, UselessAnswerError } from "../errors.ts";
import type { Moment } from "../lease/lease_deadline.ts";
import type { CallSpec } from "../resource_spec.ts";
import type { StartAnswer, StartRequest, StoredRate, Turn } from "./rate_store.ts";
import { now, SINGLE_COMMAND, TRYING } from "../times.ts";
import { ServerCall, timedOutError } from "../acquire/server_call.ts";

export interface RateSpec extends StoredRate, CallSpec {}

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
    if (turn.wait === 0) return this.#start();
    this.#turn = turn;
    this.reportWait();
    if (!this.settled) this.askAt(now() + turn.wait); // else an observer has cancelled it
  }

  protected override onTime(): void {
    if (this.#turn === undefined) return super.onTime();
    this.#turn = undefined;
    this.#start();
  }

  // Settled.

  #start(): void {
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
    if (this.#turn !== undefined) this.#giveBack(this.#turn);
  }

  /** No caller waits for it; without an answer, the start counts as made. */
  #giveBack(turn: Turn): void {
    this.rate.client.store.rates.giveBack(this.rate, this.permits, turn, SINGLE_COMMAND).catch(() => {});
  }
}
