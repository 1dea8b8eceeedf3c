/**
 * The rate limits in Redis. Only this file writes the arguments of their scripts and reads the replies.
 *
 * @module
 */
import type { Starts } from "../../internal/budgets.ts";
import type { Quota } from "../../internal/start_log.ts";
import type { SentCommand } from "../store/commands.ts";
import { numbersOf, rejectReply } from "../store/replies.ts";
import type { ScriptRunner } from "../store/script_runner.ts";
import type { Script } from "../scripts/script.ts";
import type { RateStore, StartAnswer, StoredRate } from "./rate_store.ts";
import { askAgain, change, giveBack, start } from "./scripts.ts";

export function redisRates(runner: Pick<ScriptRunner, "run">): RateStore {
  /** @param argument The second one of the script; see there. */
  const run = (script: Script, rate: StoredRate, argument: number | string, starts: Starts, command?: SentCommand) =>
    runner.run(script, rate.keys, [textOf(rate.budgets), argument, ...starts].map(String), command);
  return {
    start: async ({ spec, starts, within }, command) => {
      const maxWait = within === Infinity ? "" : within < 0 ? -1 : Math.floor(within * 1000);
      return startAnswer(await run(start, spec, maxWait, starts, command));
    },
    askAgain: async ({ spec, starts }, number, command) =>
      startAnswer(await run(askAgain, spec, number, starts, command)),
    giveBack: async ({ spec, starts }, number) => void await run(giveBack, spec, number, starts),
    change: async (rate, { starts = [], block = 0 }, command) =>
      void await run(change, rate, Math.ceil(block * 1000), starts, command),
  };
}

/** The limits, and the intervals in µs, below 0 for buckets. */
function textOf(budgets: readonly Quota[]): string {
  const spans = budgets.map(({ kind, interval }) => Math.ceil(interval * 1000) * (kind === "bucket" ? -1 : 1));
  return JSON.stringify([budgets.map(({ limit }) => limit), spans]);
}

/** A turn, if it is now | 1 wait turn | 0 wait remaining, and then the budgets of other callers */
function startAnswer(reply: unknown): StartAnswer {
  const numbers = numbersOf(reply);
  const [code, wait = NaN, third = NaN] = numbers.length === 1 && numbers[0]! > 1e12 ? [1, 0, ...numbers] : numbers;
  const text = Array.isArray(reply) ? reply[3] : undefined;
  if ((code !== 0 && code !== 1) || !(wait >= 0) || !Number.isSafeInteger(third)) rejectReply(reply);
  const [number, remaining] = code === 1 ? [third, 0] : [undefined, third];
  return { wait: wait / 1000, number, remaining, differing: text === undefined ? undefined : budgetsOf(text) };
}

/** The budgets in the text of {@linkcode textOf}, which may be bytes. */
function budgetsOf(text: unknown): Quota[] {
  const [limits, spans] = JSON.parse(text instanceof Uint8Array ? new TextDecoder().decode(text) : String(text));
  return limits.map((limit: number, i: number) => {
    return { kind: spans[i] > 0 ? "window" : "bucket", limit, interval: Math.abs(spans[i]) / 1000 };
  });
}
