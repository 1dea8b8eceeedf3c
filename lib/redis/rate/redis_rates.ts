/**
 * The rate limits in Redis: the arguments of their scripts are written and the replies are read here, and nowhere else.
 *
 * @module
 */
import { RedisError, RightsError, UselessAnswerError } from "../errors.ts";
import { numbersOf } from "../store/replies.ts";
import type { ScriptRunner } from "../store/script_runner.ts";
import {
  rateArguments,
  rateError,
  type RateStore,
  type StartAnswer,
  type StartRequest,
  type StoredRate,
  type Turn,
} from "./rate_store.ts";
import { giveBack, start } from "./scripts.ts";

/** The part of a store that runs scripts. */
type Runner = Pick<ScriptRunner, "run"> & { warnSlow(refused: string, effect: string): void };

export class RedisRates implements RateStore {
  readonly #runner: Runner;

  constructor(runner: Runner) {
    this.#runner = runner;
  }

  start(request: StartRequest, limit: number, late?: (answer: StartAnswer) => void): Promise<StartAnswer> {
    const { rate, permits, within, latest } = request;
    const longest = within === Infinity ? "" : String(Math.floor(within * 1000));
    const args = [...rateArguments(rate), String(permits), String(permits - rate.limit - 1), longest, String(latest)];
    return this.#runner.run(start, rate.keys, args, limit, (reply) => startAnswer(request, reply), late, request);
  }

  async giveBack(rate: StoredRate, permits: number, { number, start }: Turn, limit: number): Promise<void> {
    const args = [...rateArguments(rate), ...[permits, number, start].map(String)];
    try {
      await this.#runner.run(giveBack, rate.keys, args, limit);
    } catch (error) {
      // No caller sees it, and all other scripts run.
      if (error instanceof RightsError) {
        this.#runner.warnSlow("run LREM", "the start of a call that gives up counts as made");
      }
      throw error;
    }
  }
}

/** 1 now wait number start | 0 now wait | -2 now | -3 limit interval | -4 now */
function startAnswer({ rate }: StartRequest, reply: unknown): StartAnswer {
  const [code = NaN, first = NaN, wait = NaN, number = NaN, start = NaN] = numbersOf(reply);
  if (code === -3) throw rateError(rate, first, wait / 1000);
  rate.clock.saw(first);
  if (code === -2) return { kind: "refused" };
  if (code === -4) throw new RedisError(`Cannot acquire ${rate.what}: the queue is longer than 2,000 intervals`);
  const isTurn = code === 1 && Number.isSafeInteger(number) && Number.isSafeInteger(start);
  if (!(wait >= 0 && Number.isFinite(first)) || !(isTurn || code === 0)) {
    throw new UselessAnswerError(`the answer has another shape: ${String(reply)}`);
  }
  if (code === 0) return { kind: "later", wait: wait / 1000 };
  return { kind: "turn", turn: { wait: wait / 1000, number, start } };
}
