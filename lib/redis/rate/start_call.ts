/**
 * One call that starts within a rate limit, from its command to its turn or its end. Invariants: one command, unless it
 * fails or this process blocks the limit; a cancelled call gives its turn back.
 *
 * @module
 */
import { quote } from "../../internal/check.ts";
import { hook } from "../../internal/hook.ts";
import { onceFor } from "../../internal/once.ts";
import type { WaitOptions } from "../../types.ts";
import { ServerCall, timedOutError } from "../call/server_call.ts";
import { warnDiffering } from "../differing.ts";
import { explain } from "../errors.ts";
import type { Moment } from "../lease/lease_deadline.ts";
import type { CallSpec } from "../resource_spec.ts";
import { now, SINGLE_COMMAND, TRYING } from "../times.ts";
import type { RateChange, RateStore, StartAnswer, StartRequest, StoredRate, Turn } from "./rate_store.ts";

/** Exceeds the error of a sum of times. */
const ROUNDING = 1e-6;

export interface RateSpec extends StoredRate, CallSpec {}

/**
 * The calls of this process that sleep until their turns of one limit. The waits in answers that arrive together count
 * from different moments, so a call must not wake before the call ahead of it.
 */
class Sleepers extends Set<StartCall> {
  /** The call with the latest answer. */
  last: StartCall | undefined;
}

/** By the key of the limit. */
const sleepersOf = onceFor((_: RateStore) => new Map<string, Sleepers>());

/** Resolves once the call may start. */
export function startWithin(spec: RateSpec, permits: number, limits: WaitOptions = {}): Promise<boolean> {
  return new StartCall(spec, permits, limits, true).result;
}

/** Starts now, or resolves to false. */
export function tryStart(spec: RateSpec, permits: number): Promise<boolean> {
  return new StartCall(spec, permits, { timeout: 0 }, false).result;
}

/** The milliseconds until a call could start, and how many starts it could make now. Takes nothing. */
export async function lookAt(spec: RateSpec, permits: number): Promise<{ wait: number; remaining: number }> {
  const request = { rate: spec, permits, within: -1, settled: false };
  try {
    const answer = await spec.namespace.store.rates.start(request, SINGLE_COMMAND);
    return answer.kind === "later" ? answer : { wait: 0, remaining: 0 };
  } catch (error) {
    throw explain(`look at ${spec.what}`, error);
  }
}

/**
 * Gives back or counts starts, or blocks. After a block, the sleeping calls of this process ask again, in their order.
 */
export async function changeRate(spec: RateSpec, act: string, change: RateChange): Promise<void> {
  const { rates } = spec.namespace.store;
  try {
    await rates.change(spec, change, SINGLE_COMMAND);
  } catch (error) {
    throw explain(`${act} ${spec.what}`, error);
  }
  if (change.block === undefined) return;
  const sleepers = [...sleepersOf(rates).get(spec.keys[0]) ?? []];
  for (const call of sleepers) call.returnTurn();
  for (const call of sleepers) call.askAnew();
}

class StartCall extends ServerCall<StartAnswer, boolean> implements StartRequest {
  readonly rate: RateSpec;
  within = 0;
  /** Whether a call without a turn rejects, rather than resolving to false. */
  readonly #rejects: boolean;
  /** Set while it sleeps. */
  turn: Turn | undefined;

  constructor(rate: RateSpec, permits: number, limits: WaitOptions, rejects: boolean) {
    super(rate, permits, limits, TRYING);
    this.rate = rate;
    this.#rejects = rejects;
    this.begin(limits.signal);
  }

  // Asking.

  protected send(sent: Moment, limit: number): Promise<StartAnswer> {
    this.within = this.timeout === 0 ? 0 : this.retry.endsAt - sent.at;
    return this.rate.namespace.store.rates.start(this, limit, (answer) => {
      if (answer.kind === "turn") this.#giveBack(answer.turn); // another command may have brought one since
    });
  }

  protected take(answer: StartAnswer): void {
    const { other } = answer;
    if (other !== undefined) warnOther(this.rate, other);
    if (answer.kind === "later") {
      if (!this.settled) this.#refuse(answer.wait);
    } else if (this.settled) this.#giveBack(answer.turn);
    else if (answer.turn.wait === 0 && this.#sleepers() === undefined) this.#start();
    else this.#sleep(answer.turn); // if its turn is now, behind the calls whose timers are late
  }

  protected failed(error: unknown): void {
    if (!this.settled && !this.retryLater(error, this.timeout !== 0)) this.fail(error);
  }

  // Sleeping until its turn.

  #sleep(turn: Turn): void {
    this.turn = turn;
    const { keys: [key], namespace: { store: { rates } } } = this.rate;
    const sleepers = this.#sleepers() ?? new Sleepers();
    sleepersOf(rates).set(key, sleepers.add(this));
    const { last } = sleepers;
    const isAhead = last?.turn !== undefined && last.turn.moment <= turn.moment; // answers may overtake each other
    const before = isAhead ? last.timer?.at ?? Infinity : Infinity; // even if its clock is gone
    sleepers.last = this;
    this.reportWait();
    // It is settled if an observer has cancelled it.
    if (!this.settled) this.askAt(Math.max(now() + turn.wait, before < Infinity ? before : 0));
  }

  protected override onTime(time: number): void {
    const { turn } = this;
    if (turn === undefined) return super.onTime(time);
    // Timers of one moment fire in any order.
    for (const call of this.#sleepers()!) { // observers may end the sleep of others
      const isAhead = call.turn!.moment <= turn.moment && (call.timer?.at ?? Infinity) <= time + ROUNDING;
      if (call !== this && !isAhead) continue;
      call.#wake();
      call.#start();
    }
  }

  /** The calls of this process that sleep until their turns of the same limit, if there are any. */
  #sleepers(): Sleepers | undefined {
    return sleepersOf(this.rate.namespace.store.rates).get(this.rate.keys[0]);
  }

  /** Ends its sleep. Returns its turn. */
  #wake(): Turn | undefined {
    const { keys: [key], namespace: { store: { rates } } } = this.rate;
    const sleepers = this.#sleepers();
    sleepers?.delete(this);
    if (sleepers?.size === 0) sleepersOf(rates).delete(key);
    const turn = this.turn;
    this.turn = undefined;
    return turn;
  }

  /** Gives the turn back after the limit was blocked. */
  returnTurn(): void {
    const turn = this.#wake();
    if (turn !== undefined) this.#giveBack(turn);
  }

  askAnew(): void {
    this.askNow();
  }

  // Settled.

  #start(): void {
    this.resolve(true);
    if (hook !== undefined) hook.grant(this.rate.resource, this, this.permits);
  }

  #refuse(wait: number): void {
    if (!this.#rejects) return this.refuse(false);
    const detail = `; its turn would come after ${Math.ceil(wait)} ms`;
    this.cancel(timedOutError(this.rate, this.timeout, undefined, detail), "timeout");
  }

  protected timeOut(): void {
    const cause = this.obstacle(this.turn === undefined);
    if (this.#rejects) this.cancel(timedOutError(this.rate, this.timeout, cause), "timeout");
    else this.cancel(this.explained(cause), "error");
  }

  protected cleanUp(): void {
    if (this.turn !== undefined) this.returnTurn();
  }

  /** Gives a turn back in the background. Without an answer, the start counts as made. */
  #giveBack(turn: Turn): void {
    this.rate.namespace.store.rates.giveBack(this.rate, this.permits, turn, SINGLE_COMMAND).catch(() => {});
  }
}

function warnOther(
  { resource: { name }, limit, interval }: RateSpec,
  other: { limit: number; interval: number },
): void {
  const what = `rate limiter ${quote(name)}`;
  warnDiffering(what, `${limit} in ${interval} ms`, `${other.limit} in ${other.interval} ms`);
}
