/**
 * The starts of one rate limit, in memory: as `scripts/rate.ts` keeps them, with objects in place of numbers. Invariants:
 * starts never decrease along the list; of any `limit` + 1 in a row, the last is one interval after the first, or later.
 *
 * @module
 */
import { now } from "../times.ts";
import { rateError, type StartAnswer, type StartRequest, type StoredRate, type Turn } from "./rate.ts";

interface Start {
  readonly at: number;
  readonly number: number;
}

export class MemoryRate {
  readonly #limit: number;
  readonly #interval: number;
  #starts: Start[] = [];
  #numbers = 0;
  #latest = now();

  constructor({ limit, interval }: StoredRate) {
    this.#limit = limit;
    this.#interval = interval;
  }

  /** Whether its numbers count no longer, and it can go. */
  get isIdle(): boolean {
    const last = this.#starts.at(-1);
    return last === undefined || last.at + this.#interval <= this.#now();
  }

  start({ rate, permits, within }: StartRequest): StartAnswer {
    const [limit, interval] = [this.#limit, this.#interval];
    if (rate.limit !== limit || rate.interval !== interval) throw rateError(rate, limit, interval);
    const time = this.#now();
    const past = this.#starts.findIndex(({ at }) => at + interval > time);
    this.#starts.splice(0, past < 0 ? this.#starts.length : past);
    const gate = this.#starts[this.#starts.length - 1 - limit + permits];
    const at = Math.max(time, this.#starts.at(-1)?.at ?? time, gate === undefined ? time : gate.at + interval);
    const wait = at - time;
    if (wait > within) return { kind: "later", wait };
    const number = ++this.#numbers;
    for (let i = 0; i < permits; i++) this.#starts.push({ at, number });
    return { kind: "turn", turn: { at, wait, number, start: at } };
  }

  giveBack({ number }: Turn): void {
    this.#starts = this.#starts.filter((start) => start.number !== number);
  }

  /** Where the time goes back, because a replaced clock that was ahead is gone, the starts go with it. */
  #now(): number {
    const time = now();
    const back = this.#latest - time;
    if (back > 0) this.#starts = this.#starts.map(({ at, number }) => ({ at: at - back, number }));
    return this.#latest = time;
  }
}
