/**
 * The rate limits in Redis. Only this file writes the arguments of their scripts and reads the replies.
 *
 * @module
 */
import { UnansweredError } from "../errors.ts";
import type { Command } from "../store/commands.ts";
import { numbersOf } from "../store/replies.ts";
import type { ScriptRunner } from "../store/script_runner.ts";
import type { RateChange, RateStore, StartAnswer, StartRequest, StoredRate, Turn } from "./rate_store.ts";
import { again, change, giveBack, start } from "./scripts.ts";

export class RedisRates implements RateStore {
  readonly #runner: Pick<ScriptRunner, "run">;

  constructor(runner: Pick<ScriptRunner, "run">) {
    this.#runner = runner;
  }

  async start({ spec, permits, within }: StartRequest, command: Command): Promise<StartAnswer> {
    const longest = within === Infinity ? "" : within < 0 ? "-1" : String(Math.floor(within * 1000));
    const args = argumentsOf(spec, permits, longest);
    return startAnswer(await this.#runner.run(start, spec.keys, args, command));
  }

  async again({ spec, permits }: StartRequest, { number }: Turn, command: Command): Promise<StartAnswer> {
    return startAnswer(await this.#runner.run(again, spec.keys, argumentsOf(spec, permits, number), command));
  }

  async giveBack(rate: StoredRate, { number }: Turn): Promise<void> {
    await this.#runner.run(giveBack, rate.keys, argumentsOf(rate, number));
  }

  async change(rate: StoredRate, { reward = 0, penalty = 0, block = 0 }: RateChange, command: Command): Promise<void> {
    await this.#runner.run(change, rate.keys, argumentsOf(rate, reward, penalty, Math.ceil(block * 1000)), command);
  }
}

function argumentsOf({ limit, interval }: StoredRate, ...numbers: readonly (number | string)[]): string[] {
  return [limit, Math.ceil(interval * 1000), ...numbers].map(String);
}

/** 1 wait turn | 0 wait remaining, and then other numbers if there are any */
function startAnswer(reply: unknown): StartAnswer {
  const numbers = numbersOf(reply);
  const [code, wait = NaN, number = NaN, limit, interval = NaN] = numbers;
  const isKnown = (code === 0 || code === 1) && wait >= 0 && [3, 5].includes(numbers.length);
  if (!isKnown || !numbers.every(Number.isSafeInteger)) {
    throw new UnansweredError(`the answer has another shape: ${String(reply)}`);
  }
  const other = limit === undefined ? undefined : { limit, interval: interval / 1000 };
  if (code === 0) return { kind: "later", wait: wait / 1000, remaining: number, other };
  return { kind: "turn", turn: { wait: wait / 1000, number }, other };
}
