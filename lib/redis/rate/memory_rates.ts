/**
 * The rate limits of a store in memory, kept as in `scripts.ts`, with objects instead of numbers.
 *
 * @module
 */
import { MemoryData } from "../store/memory_data.ts";
import { MemoryBudgets } from "./memory_budgets.ts";
import { clock, EARLY, micros } from "./memory_clock.ts";
import type { RateChange, RateStore, StartAnswer, StartRequest, StoredRate, Turn } from "./rate_store.ts";

export class MemoryRates implements RateStore {
  readonly #rates = new MemoryData<MemoryRate>();
  readonly #budgets = new MemoryData<MemoryBudgets>();

  // deno-lint-ignore require-await
  async start(request: StartRequest): Promise<StartAnswer> {
    const { spec, spec: { budgets }, starts, within } = request;
    if (budgets !== undefined) return this.#budgetsOf(spec).start(budgets, starts!, within);
    return this.#rateOf(spec).start(request);
  }

  // deno-lint-ignore require-await
  async again(request: StartRequest, turn: Turn): Promise<StartAnswer> {
    const { spec, spec: { budgets }, starts } = request;
    if (budgets !== undefined) return this.#budgetsOf(spec).again(budgets, starts!, turn);
    return this.#rateOf(spec).again(request, turn);
  }

  // deno-lint-ignore require-await
  async giveBack(rate: StoredRate, turn: Turn): Promise<void> {
    if (rate.budgets !== undefined) this.#budgetsOf(rate).giveBack(rate.budgets, turn);
    else this.#rateOf(rate).giveBack(turn);
  }

  // deno-lint-ignore require-await
  async change(rate: StoredRate, change: RateChange): Promise<void> {
    const { budgets } = rate;
    if (budgets === undefined) return this.#rateOf(rate).change(rate.interval, change);
    const none = budgets.map(() => 0);
    const { rewards = none, penalties = none, block = 0 } = change;
    this.#budgetsOf(rate).change(budgets, rewards, penalties, block);
  }

  #budgetsOf(rate: StoredRate): MemoryBudgets {
    return this.#budgets.of(rate.keys[0], () => new MemoryBudgets());
  }

  #rateOf(rate: StoredRate): MemoryRate {
    return this.#rates.of(rate.keys[0], () => new MemoryRate());
  }
}

/** The starts of one call, or of a penalty. */
interface Start {
  at: number;
  /** Its first turn, which identifies it. */
  readonly number: number;
  /** The turn that its caller knows. */
  told: number;
  permits: number;
}

/** Times are µs. */
class MemoryRate {
  // Past and future starts in the order of their turns.
  #starts: Start[] = [];
  #blockedUntil = -Infinity;
  /** The longest interval in use, for which starts are kept. */
  #longest = 0;
  #callers: { readonly limit: number; readonly interval: number } | undefined;
  /** The latest moment, and the correction of the clock. */
  #seen = -Infinity;
  #shift = 0;
  /** When the last start no longer counts. */
  #until = -Infinity;

  get isOver(): boolean {
    return this.#until <= this.#moment();
  }

  start({ spec: { limit, interval }, permits, within }: StartRequest): StartAnswer {
    const time = this.#advance(interval);
    const last = this.#starts.at(-1)?.at ?? -Infinity;
    const at = Math.max(time, this.#blockedUntil, last + 1, this.#gate(this.#starts, permits, limit, interval));
    const wait = (at - time) / 1000;
    const isOther = this.#callers !== undefined &&
      (this.#callers.limit !== limit || this.#callers.interval !== interval);
    const other = isOther ? [{ kind: "window" as const, ...this.#callers! }] : undefined;
    if (wait > within) {
      const used = sum(this.#starts.filter((start) => start.at + micros(interval) > time));
      const remaining = time < this.#blockedUntil || last > time ? 0 : Math.max(0, limit - used);
      return { kind: "later", wait, remaining, other };
    }
    this.#callers = { limit, interval };
    this.#starts.push({ at, number: at, told: at, permits });
    this.#keep(time);
    return { kind: "turn", turn: { wait, number: at }, other };
  }

  again({ spec: { limit, interval }, permits: asked }: StartRequest, { number }: Turn): StartAnswer {
    this.#trust(this.#starts.find((start) => start.number === number)?.told);
    const time = this.#advance(interval);
    const answer = (wait: number): StartAnswer => ({ kind: "turn", turn: { wait, number }, other: undefined });
    const index = this.#starts.findIndex((start) => start.number === number);
    const mine = this.#starts[index];
    if (mine === undefined && number + this.#longest <= time && this.#blockedUntil <= time) return answer(0);
    const { at: turn, permits } = mine ?? { at: time, permits: asked };
    const ready = (ahead: readonly Start[]) =>
      Math.max(this.#blockedUntil, this.#gate(ahead, permits, limit, interval));
    if (mine !== undefined && turn <= time && ready(this.#starts.slice(0, index)) <= turn) return answer(0);
    const others = this.#starts.filter((start) => start !== mine);
    const isBehind = mine === undefined ? () => false : ({ at }: Start) => at > turn && at > time;
    const behind = others.filter(isBehind);
    const ahead = others.slice(0, others.length - behind.length);
    const at = Math.max(time, (ahead.at(-1)?.at ?? -Infinity) + 1, ready(ahead));
    for (const start of behind) start.at += Math.max(0, at - turn);
    this.#starts = [...ahead, { at, number, told: at, permits }, ...behind];
    this.#keep(time);
    return answer((at - time) / 1000);
  }

  giveBack({ number }: Turn): void {
    const left = this.#starts.filter((start) => start.number !== number);
    if (left.length === this.#starts.length) return;
    this.#starts = left;
    this.#keep(this.#moment());
  }

  change(interval: number, { reward = 0, penalty = 0, block = 0 }: RateChange): void {
    const time = this.#advance(interval);
    if (block > 0) this.#blockedUntil = Math.max(this.#blockedUntil, time + micros(block));
    const made = this.#starts.filter(({ at }) => at <= time);
    const toCome = this.#starts.slice(made.length);
    for (let left = reward, i = made.length - 1; left > 0 && i >= 0 && made[i]!.at + micros(interval) > time; i--) {
      const taken = Math.min(left, made[i]!.permits);
      made[i]!.permits -= taken;
      left -= taken;
    }
    if (penalty > 0) made.push({ at: time, number: time, told: time, permits: penalty });
    this.#starts = [...made.filter(({ permits }) => permits > 0), ...toCome];
    this.#keep(time);
  }

  /** A call that asks far too early has the timer of a replaced clock. */
  #trust(told = -Infinity): void {
    if (told - this.#moment() < EARLY) return;
    this.#seen = told - 1;
    this.#shift = Math.max(this.#shift, told - clock());
  }

  #keep(time: number): void {
    this.#seen = time;
    this.#shift = Math.max(this.#shift, time - clock());
    const last = Math.max(this.#starts.at(-1)?.at ?? time, time);
    this.#until = Math.max(last + this.#longest, this.#blockedUntil);
  }

  /** When the window of the caller has room for its starts behind these. */
  #gate(starts: readonly Start[], permits: number, limit: number, interval: number): number {
    let over = sum(starts) + permits - limit; // this number of the oldest starts must expire first
    for (const start of starts) {
      if (over <= 0) break;
      over -= start.permits;
      if (over <= 0) return start.at + micros(interval);
    }
    return -Infinity;
  }

  #advance(interval: number): number {
    const time = this.#moment();
    if (micros(interval) > this.#longest) {
      this.#longest = micros(interval);
      if (this.#seen > -Infinity) this.#keep(time); // starts are kept for it from now on
    }
    const first = this.#starts.findIndex(({ at }) => at + this.#longest > time);
    if (first !== 0 && this.#starts.length > 0) this.#starts = first < 0 ? [] : this.#starts.slice(first);
    return time;
  }

  /** A moment after the latest one, even if the clock stands still or was set back, as when a fake clock is removed. */
  #moment(): number {
    return Math.max(clock() + this.#shift, this.#seen + 1);
  }
}

function sum(starts: readonly Start[]): number {
  return starts.reduce((all, { permits }) => all + permits, 0);
}
