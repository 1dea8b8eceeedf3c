/**
 * One call that starts within a rate limit, from its command to its turn or its end. Invariants: one command if it
 * starts at once; a call that has slept asks again at its turn; a cancelled call gives its turn back.
 *
 * @module
 */
import { quote, throwIfAborted } from "../../internal/check.ts";
import { onceFor } from "../../internal/once.ts";
import type { Starts } from "../../internal/budgets.ts";
import type { Quota } from "../../internal/start_log.ts";
import { exposeState } from "../../internal/state.ts";
import type { WaitOptions } from "../../types.ts";
import { ServerCall } from "../call/server_call.ts";
import { sendSingle } from "../call/single_command.ts";
import { warnDiffering } from "../differing.ts";
import type { CallSpec } from "../resource_spec.ts";
import type { SentCommand } from "../store/commands.ts";
import { now, TRYING } from "../times.ts";
import type { RateChange, RateStore, StartAnswer, StartRequest, StoredRate } from "./rate_store.ts";

export interface RateSpec extends StoredRate, CallSpec {}

/** The calls of this process that sleep until their turns, by the key of their limit. */
export const sleepersOf: (rates: RateStore) => Map<string, Set<StartCall>> = onceFor(() => new Map());

/**
 * Resolves to true once the call may start. Without limits it is a try, which may resolve to undefined. Throws if the
 * signal is aborted.
 */
export function start(spec: RateSpec, permits: Starts, limits?: WaitOptions): Promise<true | undefined> {
  throwIfAborted(limits);
  return new StartCall(spec, permits, limits).result;
}

/** The milliseconds until a call could start, and how many starts it could make now. Takes nothing. */
export function peek(spec: RateSpec, starts: Starts): Promise<StartAnswer> {
  const { namespace: { store: { rates } }, what } = spec;
  return sendSingle(spec, `look at ${what}`, (command) => rates.start({ spec, starts, within: -1 }, command));
}

/** Gives back or counts starts, or blocks. */
export function changeRate(spec: RateSpec, operation: string, change: RateChange): Promise<void> {
  const { namespace: { store: { rates } }, what } = spec;
  return sendSingle(spec, `${operation} ${what}`, (command) => rates.change(spec, change, command));
}

export class StartCall extends ServerCall<RateSpec, StartAnswer, true> implements StartRequest {
  within = 0;
  readonly starts: Starts;
  /** The number of its turn; undefined before it has one, and once that was given back. */
  #turnId: number | undefined;
  /** When its turn comes, as far as it knows. */
  #askAt = 0;

  static {
    exposeState(StartCall, (call) => [call.isAsking, call.timer, call.#turnId]);
  }

  constructor(spec: RateSpec, starts: Starts, limits?: WaitOptions) {
    super(spec, starts[0]!, limits, TRYING);
    this.starts = starts;
    this.begin(limits?.signal);
  }

  // Asking.

  protected send(command: SentCommand): Promise<StartAnswer> {
    const { rates } = this.spec.namespace.store;
    this.within = this.waits ? this.retry.endsAt - command.at : 0;
    return this.#turnId === undefined ? rates.start(this, command) : rates.askAgain(this, this.#turnId, command);
  }

  protected onAnswer(answer: StartAnswer): void {
    this.retry.answered();
    if (answer.differing !== undefined) {
      const { resource: { name }, budgets } = this.spec;
      warnDiffering(`rate limiter ${quote(name)}`, wordsOf(budgets), wordsOf(answer.differing));
    }
    // The answer to another command may have been first.
    const { number, wait } = answer;
    const known = this.#turnId;
    if (number !== undefined && number !== known && (this.settled || known !== undefined)) this.#giveBack(number);
    else if (this.settled) return;
    else if (number !== undefined) this.#useTurn(number, wait);
    else if (known === undefined) this.#refuse(wait);
  }

  #refuse(wait: number): void {
    this.refuse(`; its turn would come after ${Math.ceil(wait)} ms`);
  }

  // Sleeping until its turn.

  #useTurn(number: number, wait: number): void {
    this.#turnId = number;
    if (wait === 0) return this.#startInOrder();
    if (wait > this.within) return this.#refuse(wait); // it was moved
    const { keys: [key], namespace: { store: { rates } } } = this.spec;
    sleepersOf(rates).set(key, (this.#sleepers() ?? new Set()).add(this));
    this.reportWait();
    this.#askAt = now() + wait;
    if (!this.settled) this.pauseUntil(this.#askAt); // an observer may have cancelled it
  }

  /** Asks again, after the calls of this process whose turns are ahead, even if their timers are late. */
  protected override onTime(): void {
    for (const call of [...this.#callsAhead(), this]) {
      if (!call.isAsking && call.#askAt <= this.#askAt) call.ask();
    }
  }

  /** Once it may start, so may all calls ahead of it, even if their timers are late or their clock is gone. */
  #startInOrder(): void {
    for (const call of [...this.#callsAhead(), this]) {
      if (!call.settled) call.grant(true); // observers may end the sleep of others
    }
  }

  /** Those with smaller numbers; none while it has no number. */
  #callsAhead(): StartCall[] {
    const ahead = [...this.#sleepers() ?? []].filter((call) => call.#turnId! < this.#turnId!);
    return ahead.sort((a, b) => a.#turnId! - b.#turnId!);
  }

  /** The calls of this process that sleep until their turns of the same limit, if there are any. */
  #sleepers(): Set<StartCall> | undefined {
    return sleepersOf(this.spec.namespace.store.rates).get(this.spec.keys[0]);
  }

  /** Ends its sleep, and gives its turn back unless it starts. */
  protected override cleanUp(isGranted: boolean): void {
    const number = this.#turnId;
    if (!isGranted) this.#turnId = undefined;
    const sleepers = this.#sleepers();
    if (sleepers?.delete(this) && sleepers.size === 0) {
      sleepersOf(this.spec.namespace.store.rates).delete(this.spec.keys[0]);
    }
    if (number !== undefined && !isGranted) this.#giveBack(number);
  }

  /** Gives a turn back in the background. Without an answer, the start counts as made. */
  #giveBack(number: number): void {
    this.spec.namespace.store.rates.giveBack(this, number).catch(() => {});
  }
}

function wordsOf(budgets: readonly Quota[]): string {
  const suffix = { window: "", bucket: " (bucket)" };
  return budgets.map(({ kind, limit, interval }) => `${limit} in ${interval} ms${suffix[kind]}`).join(", ");
}
