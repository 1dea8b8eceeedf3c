/**
 * One call that starts within a rate limit, from its command to its turn or its end. Invariants: one command, unless it
 * fails or this process blocks the limit; a cancelled call gives its turn back.
 *
 * @module
 */
import { quote } from "../../internal/check.ts";
import { onceFor } from "../../internal/once.ts";
import { exposeState } from "../../internal/state.ts";
import type { WaitOptions } from "../../types.ts";
import { ServerCall } from "../call/server_call.ts";
import { warnDiffering } from "../differing.ts";
import { explained } from "../errors.ts";
import type { CallSpec } from "../resource_spec.ts";
import { type Command, within } from "../store/commands.ts";
import { now, SINGLE_COMMAND, TRYING } from "../times.ts";
import type { RateChange, RateStore, StartAnswer, StartRequest, StoredRate, Turn } from "./rate_store.ts";

export interface RateSpec extends StoredRate, CallSpec {}

/** The calls of this process that sleep until their turns, by the key of their limit. */
export const sleepersOf: (rates: RateStore) => Map<string, Set<StartCall>> = onceFor((_: RateStore) =>
  new Map<string, Set<StartCall>>()
);

/** Resolves to true once the call may start. Without limits it is a try, which may resolve to undefined. */
export function start(spec: RateSpec, permits: number, limits?: WaitOptions): Promise<true | undefined> {
  return new StartCall(spec, permits, limits).result;
}

/** The milliseconds until a call could start, and how many starts it could make now. Takes nothing. */
export async function lookAt(spec: RateSpec, permits: number): Promise<{ wait: number; remaining: number }> {
  const { namespace: { store }, what } = spec;
  const request = { spec, permits, within: -1 };
  const sent = within(SINGLE_COMMAND, (command) => store.rates.start(request, command));
  const answer = await explained(`look at ${what}`, sent);
  return answer.kind === "later" ? answer : { wait: 0, remaining: 0 };
}

/**
 * Gives back or counts starts, or blocks. After a block, the sleeping calls of this process ask again, in their order.
 */
export async function changeRate(spec: RateSpec, act: string, change: RateChange): Promise<void> {
  const { namespace: { store }, what } = spec;
  const sent = within(SINGLE_COMMAND, (command) => store.rates.change(spec, change, command));
  await explained(`${act} ${what}`, sent);
  if (change.block !== undefined) StartCall.askAgain([...sleepersOf(store.rates).get(spec.keys[0]) ?? []]);
}

export class StartCall extends ServerCall<RateSpec, StartAnswer, true> implements StartRequest {
  within = 0;
  /** Set until it starts. */
  #turn: Turn | undefined;

  static {
    exposeState(StartCall, (call) => [call.isAsking, call.timer, call.#turn]);
  }

  constructor(spec: RateSpec, permits: number, limits?: WaitOptions) {
    super(spec, permits, limits, TRYING);
    this.begin(limits?.signal);
  }

  // Asking.

  protected send(command: Command): Promise<StartAnswer> {
    this.within = this.waits ? this.retry.endsAt - command.at : 0;
    return this.spec.namespace.store.rates.start(this, command);
  }

  protected take(answer: StartAnswer): void {
    this.retry.answered();
    if (answer.other !== undefined) this.#warn(answer.other);
    const needsTurn = !this.settled && this.#turn === undefined; // the answer to another command may have been first
    if (answer.kind === "later") {
      if (needsTurn) this.refuse(`; its turn would come after ${Math.ceil(answer.wait)} ms`);
    } else if (needsTurn) this.#take(answer.turn);
    else this.#giveBack(answer.turn);
  }

  // Sleeping until its turn.

  #take(turn: Turn): void {
    this.#turn = turn;
    if (turn.wait === 0) return this.#startInOrder();
    const { keys: [key], namespace: { store: { rates } } } = this.spec;
    sleepersOf(rates).set(key, (this.#sleepers() ?? new Set()).add(this));
    this.reportWait();
    if (!this.settled) this.timer.set(now() + turn.wait); // an observer may have cancelled it
  }

  protected override onTime(): void {
    if (this.#turn === undefined) super.onTime();
    else this.#startInOrder();
  }

  /** Once its turn has come, so have all turns ahead of it, even if their timers are late or their clock is gone. */
  #startInOrder(): void {
    const mine = this.#turn!.number;
    const ahead = [...this.#sleepers() ?? []].filter((call) => call.#turn!.number < mine);
    ahead.sort((a, b) => a.#turn!.number - b.#turn!.number);
    for (const call of [...ahead, this]) {
      if (call.#turn !== undefined) call.grant(true); // observers may end the sleep of others
    }
  }

  /** The calls of this process that sleep until their turns of the same limit, if there are any. */
  #sleepers(): Set<StartCall> | undefined {
    return sleepersOf(this.spec.namespace.store.rates).get(this.spec.keys[0]);
  }

  /** After a block, all give their turns back before the first one asks again. */
  static askAgain(sleepers: readonly StartCall[]): void {
    for (const call of sleepers) call.leave(false);
    for (const call of sleepers) call.ask();
  }

  /** Ends its sleep, and gives its turn back unless it starts. */
  protected override leave(isGranted: boolean): void {
    const turn = this.#turn;
    this.#turn = undefined;
    const sleepers = this.#sleepers();
    if (sleepers?.delete(this) && sleepers.size === 0) {
      sleepersOf(this.spec.namespace.store.rates).delete(this.spec.keys[0]);
    }
    if (turn !== undefined && !isGranted) this.#giveBack(turn);
  }

  #warn(other: { limit: number; interval: number }): void {
    const { resource: { name }, limit, interval } = this.spec;
    const words = [`${limit} in ${interval} ms`, `${other.limit} in ${other.interval} ms`] as const;
    warnDiffering(`rate limiter ${quote(name)}`, ...words);
  }

  /** Gives a turn back in the background. Without an answer, the start counts as made. */
  #giveBack(turn: Turn): void {
    this.spec.namespace.store.rates.giveBack(this.spec, turn).catch(() => {});
  }
}
