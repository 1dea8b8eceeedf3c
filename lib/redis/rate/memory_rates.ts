/**
 * The rate limits of a store in memory, kept as in `scripts.ts`, with objects instead of numbers.
 *
 * @module
 */
import { SteadyClock } from "../clock.ts";
import { MemoryData } from "../store/memory_data.ts";
import type { RateChange, RateStore, StartAnswer, StartRequest, StoredRate, Turn } from "./rate_store.ts";

export class MemoryRates implements RateStore {
  readonly #rates = new MemoryData<MemoryRate>();
  #numbers = 0;

  // deno-lint-ignore require-await
  async start(request: StartRequest): Promise<StartAnswer> {
    return this.#rateOf(request.rate).start(request, ++this.#numbers);
  }

  // deno-lint-ignore require-await
  async giveBack(rate: StoredRate, _permits: number, turn: Turn): Promise<void> {
    this.#rateOf(rate).giveBack(turn);
  }

  // deno-lint-ignore require-await
  async change(rate: StoredRate, change: RateChange): Promise<void> {
    this.#rateOf(rate).change(rate.interval, change);
  }

  #rateOf(rate: StoredRate): MemoryRate {
    return this.#rates.of(rate.keys[0], () => new MemoryRate());
  }
}

/** The starts of one call; a penalty has no number. */
interface Start {
  readonly at: number;
  readonly number: number;
  permits: number;
}

class MemoryRate {
  // Past and future starts in the order of their turns.
  #starts: Start[] = [];
  #blockedUntil = -Infinity;
  /** The longest interval in use, for which starts are kept. */
  #longest = 0;
  #callers: { readonly limit: number; readonly interval: number } | undefined;
  readonly #clock = new SteadyClock();

  /** When the last start no longer counts. */
  #until = -Infinity;

  get isOver(): boolean {
    return this.#until <= this.#clock.now();
  }

  start({ rate: { limit, interval }, permits, within }: StartRequest, number: number): StartAnswer {
    const time = this.#advance(interval);
    const last = this.#starts.at(-1)?.at ?? -Infinity;
    const at = Math.max(time, this.#blockedUntil, last, this.#gate(permits, limit, interval));
    const wait = at - time;
    const isOther = this.#callers !== undefined &&
      (this.#callers.limit !== limit || this.#callers.interval !== interval);
    const other = isOther ? this.#callers : undefined;
    if (wait > within) {
      const used = sum(this.#starts.filter((start) => start.at + interval > time));
      const remaining = time < this.#blockedUntil || last > time ? 0 : Math.max(0, limit - used);
      return { kind: "later", wait, remaining, other };
    }
    this.#callers = { limit, interval };
    this.#starts.push({ at, number, permits });
    this.#keep(time);
    return { kind: "turn", turn: { wait, number, moment: at }, other };
  }

  giveBack({ number }: Turn): void {
    this.#starts = this.#starts.filter((start) => start.number !== number);
    this.#keep(this.#clock.now());
  }

  change(interval: number, { reward = 0, penalty = 0, block = 0 }: RateChange): void {
    const time = this.#advance(interval);
    if (block > 0) this.#blockedUntil = Math.max(this.#blockedUntil, time + block);
    const made = this.#starts.filter(({ at }) => at <= time);
    const toCome = this.#starts.slice(made.length);
    for (let left = reward, i = made.length - 1; left > 0 && i >= 0 && made[i]!.at + interval > time; i--) {
      const taken = Math.min(left, made[i]!.permits);
      made[i]!.permits -= taken;
      left -= taken;
    }
    if (penalty > 0) made.push({ at: time, number: 0, permits: penalty });
    this.#starts = [...made.filter(({ permits }) => permits > 0), ...toCome];
    this.#keep(time);
  }

  #keep(time: number): void {
    const last = Math.max(this.#starts.at(-1)?.at ?? time, time);
    this.#until = Math.max(last + this.#longest, this.#blockedUntil);
  }

  /** When the window of the caller has room for its starts. */
  #gate(permits: number, limit: number, interval: number): number {
    let over = sum(this.#starts) + permits - limit; // this number of the oldest starts must expire first
    for (const start of this.#starts) {
      if (over <= 0) break;
      over -= start.permits;
      if (over <= 0) return start.at + interval;
    }
    return -Infinity;
  }

  #advance(interval: number): number {
    const time = this.#clock.now();
    this.#longest = Math.max(this.#longest, interval);
    this.#starts = this.#starts.filter(({ at }) => at + this.#longest > time);
    return time;
  }
}

function sum(starts: readonly Start[]): number {
  return starts.reduce((all, { permits }) => all + permits, 0);
}
