/**
 * The starts of one rate limit, in memory: as `scripts/rate.ts` keeps them, with objects in place of numbers. Invariants:
 * starts never decrease along the list; of any `limit` + 1 in a row, the last is one interval after the first, or later.
 *
 * @module
 */
import { SteadyClock } from "../clock.ts";
import { MemoryData } from "../store/memory_data.ts";
import {
  rateError,
  type RateStore,
  type StartAnswer,
  type StartRequest,
  type StoredRate,
  type Turn,
} from "./rate_store.ts";

interface Start {
  readonly at: number;
  readonly number: number;
}

/** All rate limits of a store in memory. */
export class MemoryRates implements RateStore {
  readonly #rates = new MemoryData<MemoryRate>();

  // deno-lint-ignore require-await
  async start(request: StartRequest): Promise<StartAnswer> {
    return this.#rateOf(request.rate).start(request);
  }

  // deno-lint-ignore require-await
  async giveBack(rate: StoredRate, _permits: number, turn: Turn): Promise<void> {
    this.#rateOf(rate).giveBack(turn);
  }

  #rateOf(rate: StoredRate): MemoryRate {
    return this.#rates.of(rate.keys[0], () => new MemoryRate(rate));
  }
}

class MemoryRate {
  readonly #limit: number;
  readonly #interval: number;
  #starts: Start[] = [];
  #numbers = 0;
  readonly #clock = new SteadyClock();

  constructor({ limit, interval }: StoredRate) {
    this.#limit = limit;
    this.#interval = interval;
  }

  /** Whether its numbers count no longer, and it can go. */
  get isOver(): boolean {
    const last = this.#starts.at(-1);
    return last === undefined || last.at + this.#interval <= this.#clock.now();
  }

  start({ rate, permits, within }: StartRequest): StartAnswer {
    const [limit, interval] = [this.#limit, this.#interval];
    if (rate.limit !== limit || rate.interval !== interval) throw rateError(rate, limit, interval);
    const time = this.#clock.now();
    const past = this.#starts.findIndex(({ at }) => at + interval > time);
    this.#starts.splice(0, past < 0 ? this.#starts.length : past);
    const gate = this.#starts[this.#starts.length - 1 - limit + permits];
    const at = Math.max(time, this.#starts.at(-1)?.at ?? time, gate === undefined ? time : gate.at + interval);
    const wait = at - time;
    if (wait > within) return { kind: "later", wait };
    const number = ++this.#numbers;
    for (let i = 0; i < permits; i++) this.#starts.push({ at, number });
    return { kind: "turn", turn: { wait, number, start: number } };
  }

  giveBack({ number }: Turn): void {
    this.#starts = this.#starts.filter((start) => start.number !== number);
  }
}
