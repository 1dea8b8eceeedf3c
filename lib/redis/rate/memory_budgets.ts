/**
 * One rate limit with several budgets, or with a token bucket, of a store in memory; as in `budget_scripts.ts`.
 *
 * @module
 */
import type { Starts } from "../../internal/budgets.ts";
import type { Terms } from "../../internal/start_log.ts";
import { MOST_MISSING } from "./budget_scripts.ts";
import { clock, EARLY, micros } from "./memory_clock.ts";
import type { StartAnswer, Turn } from "./rate_store.ts";

interface Start {
  at: number;
  /** Its first turn, which identifies it. */
  readonly first: number;
  /** The turn that its caller knows. */
  readonly told: number;
  readonly permits: readonly number[];
}

/** Times are µs. */
export class MemoryBudgets {
  // In the order of their turns.
  #starts: Start[] = [];
  #seen = -Infinity;
  #shift = 0;
  #blocked = -Infinity;
  #longest = 0;
  /** The levels of buckets at `since`, before the first of the starts. */
  #levels: readonly number[] = [];
  #since = 0;
  #callers: readonly Terms[] | undefined;
  #until = -Infinity;

  get isOver(): boolean {
    return this.#until <= this.#moment();
  }

  start(budgets: readonly Terms[], permits: Starts, within: number): StartAnswer {
    const time = this.#advance(budgets);
    const other = this.#others(budgets);
    const last = this.#starts.at(-1)?.at ?? -Infinity;
    const at = Math.max(time, last + 1, this.#ready(budgets, permits, this.#starts));
    const wait = (at - time) / 1000;
    if (wait > within) {
      const waits = time < this.#blocked || last > time;
      return { kind: "later", wait, remaining: waits ? 0 : this.#remaining(budgets[0]!, time), other };
    }
    this.#callers = budgets;
    this.#starts.push({ at, first: at, told: at, permits });
    this.#keep(budgets, time);
    return { kind: "turn", turn: { wait, number: at }, other };
  }

  again(budgets: readonly Terms[], asked: Starts, { number }: Turn): StartAnswer {
    this.#trust(this.#starts.find(({ first }) => first === number)?.told);
    const time = this.#advance(budgets);
    const answer = (wait: number): StartAnswer => ({ kind: "turn", turn: { wait, number }, other: undefined });
    const mine = this.#starts.find(({ first }) => first === number);
    if (mine === undefined && number + this.#longest <= time && this.#blocked <= time) return answer(0);
    const permits = mine?.permits ?? asked;
    const turn = mine?.at ?? Infinity;
    const before = this.#starts.slice(0, mine && this.#starts.indexOf(mine));
    if (turn <= time && this.#ready(budgets, permits, before) <= turn) return answer(0);
    const others = this.#starts.filter((start) => start !== mine);
    const behind = others.filter(({ at }) => at > turn && at > time);
    const ahead = others.slice(0, others.length - behind.length);
    const at = Math.max(time, (ahead.at(-1)?.at ?? -Infinity) + 1, this.#ready(budgets, permits, ahead));
    for (const start of behind) start.at += Math.max(0, at - turn);
    this.#starts = [...ahead, { at, first: number, told: at, permits }, ...behind];
    this.#keep(budgets, time);
    return answer((at - time) / 1000);
  }

  giveBack(budgets: readonly Terms[], { number }: Turn): void {
    const time = this.#advance(budgets);
    const left = this.#starts.filter(({ first }) => first !== number);
    if (left.length === this.#starts.length) return;
    this.#starts = left;
    this.#keep(budgets, time);
  }

  change(budgets: readonly Terms[], reward: Starts, penalty: Starts, block: number): void {
    const time = this.#advance(budgets);
    if (block > 0) this.#blocked = Math.max(this.#blocked, time + micros(block));
    let made = this.#starts.filter(({ at }) => at <= time);
    const toCome = this.#starts.slice(made.length);
    const changed = budgets.map(({ kind, interval }, i) => {
      if (kind === "bucket") return penalty[i]! - reward[i]!;
      let left = reward[i]!;
      made = made.reverse().map((start) => {
        const taken = start.at + micros(interval) > time ? Math.min(left, countOf(start, i)) : 0;
        left -= taken;
        return { ...start, permits: start.permits.map((each, j) => i === j ? each - taken : each) };
      }).reverse();
      return penalty[i]!;
    });
    if (changed.some((each) => each !== 0)) made.push({ at: time, first: time, told: time, permits: changed });
    this.#starts = [...made, ...toCome];
    this.#keep(budgets, time);
  }

  #others(budgets: readonly Terms[]): readonly Terms[] | undefined {
    return this.#callers !== undefined && JSON.stringify(this.#callers) !== JSON.stringify(budgets)
      ? this.#callers
      : undefined;
  }

  #remaining({ kind, limit, interval }: Terms, time: number): number {
    if (kind === "bucket") {
      const [level, at] = this.#level({ limit, interval }, 0, this.#starts);
      return Math.max(0, Math.floor(Math.min(limit, level + (time - at) * limit / micros(interval) + 1e-9)));
    }
    const inside = this.#starts.filter(({ at }) => at + micros(interval) > time);
    return Math.max(0, limit - inside.reduce((sum, start) => sum + countOf(start, 0), 0));
  }

  /** When these permits are there behind these starts. */
  #ready(budgets: readonly Terms[], permits: Starts, starts: readonly Start[]): number {
    const times = budgets.map((terms, i) => {
      const wanted = permits[i] ?? 0;
      if (wanted === 0) return -Infinity;
      return terms.kind === "bucket" ? this.#filled(terms, i, wanted, starts) : gate(terms, i, wanted, starts);
    });
    return Math.max(this.#blocked, ...times);
  }

  #filled(terms: Terms, i: number, wanted: number, starts: readonly Start[]): number {
    const [level, at] = this.#level(terms, i, starts);
    return level >= wanted ? -Infinity : at + Math.ceil((wanted - level) * micros(terms.interval) / terms.limit);
  }

  /** The level of a bucket, and its moment, after these starts. */
  #level({ limit, interval }: Omit<Terms, "kind">, i: number, starts: readonly Start[]): [level: number, at: number] {
    let level = Math.min(limit, this.#levels[i] ?? limit);
    let since = this.#since;
    for (const { at, permits } of starts) {
      level = Math.min(limit, level + Math.max(0, at - since) * (limit / micros(interval)));
      since = Math.max(since, at);
      level = Math.max(Math.min(limit, level - (permits[i] ?? 0)), -MOST_MISSING * (limit / micros(interval)));
    }
    return [level, since];
  }

  #advance(budgets: readonly Terms[]): number {
    const time = this.#moment();
    const longest = Math.max(this.#longest, ...budgets.map(({ interval }) => micros(interval)));
    const isLonger = longest > this.#longest && this.#seen > -Infinity;
    this.#longest = longest;
    if (this.#drop(budgets, time) || isLonger) this.#keep(budgets, time);
    return time;
  }

  /** Drops starts that are over, and returns whether there were any. */
  #drop(budgets: readonly Terms[], time: number): boolean {
    const found = this.#starts.findIndex(({ at }) => at + this.#longest > time);
    const dropped = found < 0 ? this.#starts : this.#starts.slice(0, found);
    const last = dropped.at(-1);
    if (last === undefined) return false;
    const levels = budgets.map((terms, i) =>
      terms.kind === "bucket" ? this.#level(terms, i, dropped)[0] : this.#levels[i] ?? terms.limit
    );
    this.#levels = [...levels, ...this.#levels.slice(budgets.length)];
    this.#since = last.at;
    this.#starts = this.#starts.slice(dropped.length);
    return true;
  }

  /** A call that asks far too early has the timer of a replaced clock. */
  #trust(told = -Infinity): void {
    if (told - this.#moment() < EARLY) return;
    this.#seen = told - 1;
    this.#shift = Math.max(this.#shift, told - clock());
  }

  #keep(budgets: readonly Terms[], time: number): void {
    this.#seen = time;
    this.#shift = Math.max(this.#shift, time - clock());
    const full = budgets.map((terms, i) =>
      terms.kind === "bucket" ? this.#filled(terms, i, terms.limit, this.#starts) : -Infinity
    );
    this.#until = Math.max((this.#starts.at(-1)?.at ?? time) + this.#longest, this.#blocked, ...full);
  }

  /** A moment after the latest one, even if the clock stands still or was set back. */
  #moment(): number {
    return Math.max(clock() + this.#shift, this.#seen + 1);
  }
}

/** A reward of a bucket is an entry below 0. */
function countOf(start: Start, i: number): number {
  return Math.max(0, start.permits[i] ?? 0);
}

function gate({ limit, interval }: Terms, i: number, wanted: number, starts: readonly Start[]): number {
  let over = starts.reduce((sum, start) => sum + countOf(start, i), wanted - limit);
  for (const start of starts) {
    if (over <= 0) break;
    over -= countOf(start, i);
    if (over <= 0) return start.at + micros(interval);
  }
  return -Infinity;
}
