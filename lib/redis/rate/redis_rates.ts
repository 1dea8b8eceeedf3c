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
import { againBudgets, changeBudgets, giveBackBudgets, startBudgets } from "./budget_scripts.ts";
import { again, change, giveBack, start } from "./scripts.ts";
import type { Terms } from "../../internal/start_log.ts";

export class RedisRates implements RateStore {
  readonly #runner: Pick<ScriptRunner, "run">;

  constructor(runner: Pick<ScriptRunner, "run">) {
    this.#runner = runner;
  }

  async start({ spec, permits, starts, within }: StartRequest, command: Command): Promise<StartAnswer> {
    const longest = within === Infinity ? "" : within < 0 ? "-1" : String(Math.floor(within * 1000));
    if (spec.budgets !== undefined) {
      const args = [textOf(spec.budgets), starts!.join(" "), longest];
      return startAnswer(await this.#runner.run(startBudgets, spec.keys, args, command));
    }
    const args = argumentsOf(spec, permits, longest);
    return startAnswer(await this.#runner.run(start, spec.keys, args, command));
  }

  async again({ spec, permits, starts }: StartRequest, { number }: Turn, command: Command): Promise<StartAnswer> {
    if (spec.budgets !== undefined) {
      const args = [textOf(spec.budgets), starts!.join(" "), String(number)];
      return startAnswer(await this.#runner.run(againBudgets, spec.keys, args, command));
    }
    return startAnswer(await this.#runner.run(again, spec.keys, argumentsOf(spec, permits, number), command));
  }

  async giveBack(rate: StoredRate, { number }: Turn): Promise<void> {
    if (rate.budgets !== undefined) {
      await this.#runner.run(giveBackBudgets, rate.keys, [textOf(rate.budgets), String(number)]);
    } else await this.#runner.run(giveBack, rate.keys, argumentsOf(rate, number));
  }

  async change(rate: StoredRate, change: RateChange, command: Command): Promise<void> {
    const { budgets } = rate;
    if (budgets === undefined) return await this.#changeWindow(rate, change, command);
    const none = budgets.map(() => 0);
    const { rewards = none, penalties = none, block = 0 } = change;
    const args = [textOf(budgets), rewards.join(" "), penalties.join(" "), String(Math.ceil(block * 1000))];
    await this.#runner.run(changeBudgets, rate.keys, args, command);
  }

  async #changeWindow(
    rate: StoredRate,
    { reward = 0, penalty = 0, block = 0 }: RateChange,
    command: Command,
  ): Promise<void> {
    await this.#runner.run(change, rate.keys, argumentsOf(rate, reward, penalty, Math.ceil(block * 1000)), command);
  }
}

function argumentsOf({ limit, interval }: StoredRate, ...numbers: readonly (number | string)[]): string[] {
  return [limit, Math.ceil(interval * 1000), ...numbers].map(String);
}

function textOf(budgets: readonly Terms[]): string {
  return budgets.map(({ kind, limit, interval }) => `${kind[0]}${limit}/${Math.ceil(interval * 1000)}`).join(" ");
}

/** 1 wait turn | 0 wait remaining, and then limit and interval of other callers, below 0 for a bucket */
function startAnswer(reply: unknown): StartAnswer {
  const numbers = numbersOf(reply);
  const [code, wait = NaN, number = NaN, ...others] = numbers;
  const isKnown = (code === 0 || code === 1) && wait >= 0 && numbers.length >= 3 && numbers.length % 2 === 1;
  if (!isKnown || !numbers.every(Number.isSafeInteger)) {
    throw new UnansweredError(`the answer has another shape: ${String(reply)}`);
  }
  const other = others.length === 0 ? undefined : termsOf(others);
  if (code === 0) return { kind: "later", wait: wait / 1000, remaining: number, other };
  return { kind: "turn", turn: { wait: wait / 1000, number }, other };
}

function termsOf(numbers: readonly number[]): Terms[] {
  return Array.from({ length: numbers.length / 2 }, (_, i) => {
    const [limit, interval] = [numbers[2 * i]!, numbers[2 * i + 1]! / 1000];
    return { kind: interval < 0 ? "bucket" : "window", limit, interval: Math.abs(interval) };
  });
}
