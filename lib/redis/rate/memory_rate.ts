/**
 * One rate limit of a store in memory, kept as in `layout.ts`.
 *
 * @module
 */
import type { Starts } from "../../internal/budgets.ts";
import type { Terms } from "../../internal/start_log.ts";
import { now } from "../times.ts";
import { MOST_MISSING } from "./bucket.ts";
import { CHANGE } from "./layout.ts";
import type { RateChange, StartAnswer } from "./rate_store.ts";

/** By which no real timer fires early, in µs. */
const EARLY = 2000;

/** Of one budget: the count of all starts; what is missing in a bucket, and since when. */
interface Level {
  readonly count: number;
  readonly missing: number;
  readonly since: number;
}

type Levels = readonly Level[];

interface Entry {
  readonly turn: number;
  readonly number: number;
  /** The turn that its caller knows. */
  readonly told: number;
  readonly levels: Levels;
}

interface Call extends Entry {
  readonly starts: Starts;
}

const UNUSED: Level = { count: 0, missing: 0, since: 0 };

/** The state after the last start. Times are µs. */
export class MemoryRate {
  #entries: Entry[] = [];
  #levels: Levels = [];
  #last = -Infinity;
  #isListed = true;
  /** The latest number that was given back. */
  #back = -Infinity;
  #blocked = -Infinity;
  #longest = 0;
  #callers: readonly Terms[] | undefined;
  /** The latest moment, and the correction of the clock. */
  #seen = -Infinity;
  #shift = 0;
  /** When nothing counts any longer. */
  #until = -Infinity;
  // Of the present request.
  #moment = 0;
  #budgets: readonly Terms[] = [];
  #isChanged = false;

  get isOver(): boolean {
    return this.#until <= this.#time();
  }

  /**
   * Begins a request.
   *
   * @param turn Of a call that asks again. If that is far too early, the call has the timer of a replaced clock.
   */
  advance(budgets: readonly Terms[], turn?: number): this {
    const told = turn && this.#entries.find(({ number }) => number === turn)?.told || -Infinity;
    if (told - this.#time() >= EARLY) {
      this.#seen = told - 1;
      this.#shift = Math.max(this.#shift, told - clock());
    }
    this.#budgets = budgets.map((terms) => ({ ...terms, interval: micros(terms.interval) }));
    this.#moment = this.#time();
    this.#isChanged = this.#span() > this.#longest && this.#seen > -Infinity;
    return this;
  }

  start(starts: Starts, within: number): StartAnswer {
    if (this.#hasWindow()) this.#list();
    const at = this.#turnOf(starts);
    const wait = (at - this.#moment) / 1000;
    const other = this.#others();
    if (wait > within) {
      if (this.#isChanged) this.#save();
      const waits = this.#moment < this.#blocked || this.#last > this.#moment;
      return { wait, turn: undefined, remaining: waits ? 0 : Math.max(0, this.#remaining()), other };
    }
    if (wait > 0) this.#list();
    this.#add(at, starts, {}, this.#hasWindow() || wait > 0);
    this.#callers = this.#budgets;
    this.#save();
    return { wait, turn: at, remaining: 0, other };
  }

  again(starts: Starts, number: number): StartAnswer {
    const answer = (wait: number): StartAnswer => {
      if (this.#isChanged) this.#save();
      return { wait, turn: number, remaining: 0, other: undefined };
    };
    const index = this.#find(number);
    const entry = this.#entries[index];
    if (entry === undefined && number + this.#span() <= this.#moment && this.#blocked <= this.#moment) return answer(0);
    if (entry !== undefined && entry.turn > this.#moment) return answer((entry.turn - this.#moment) / 1000); // it was moved
    if (entry !== undefined) {
      const ahead = this.#entries.slice(0, index);
      if (this.#ready(ahead.at(-1)?.levels ?? [], ahead, starts) <= entry.turn) return answer(0);
    }
    const calls = entry === undefined ? [] : this.#cut(index).slice(1);
    const early = calls.filter(({ turn }) => turn <= this.#moment);
    this.#put(early);
    this.#list();
    const at = this.#turnOf(starts);
    this.#add(at, starts, { number, levels: entry?.levels ?? [] });
    this.#put(calls.slice(early.length), Math.max(0, at - (entry?.turn ?? at)));
    this.#isChanged = true;
    return answer((at - this.#moment) / 1000);
  }

  giveBack(starts: Starts, number: number): void {
    const index = this.#find(number);
    const isKnown = index >= 0;
    if (!isKnown && (this.#hasWindow() || number <= this.#back || number > this.#last)) return;
    this.#back = Math.max(this.#back, number);
    const calls = this.#cut(isKnown ? index : this.#firstAfter(this.#moment));
    if (!isKnown) {
      this.#levels = this.#levels.map((level, i) => {
        const { limit = 0, interval = 1 } = this.#budgets[i] ?? {};
        const surely = Math.max(0, (starts[i] ?? 0) - (this.#moment - number) * limit / interval);
        return { ...level, missing: Math.max(0, level.missing - surely) };
      });
    }
    this.#put(calls.slice(isKnown ? 1 : 0));
    this.#save();
  }

  change({ starts = this.#budgets.map(() => 0), block = 0 }: RateChange): void {
    if (this.#hasWindow()) this.#list();
    const calls = this.#cut(this.#firstAfter(this.#moment));
    if (block > 0) this.#blocked = Math.max(this.#blocked, this.#moment + micros(block));
    this.#put(this.#rewarded(starts));
    const counted = starts.map((each, i) => this.#budgets[i]!.kind === "window" ? Math.max(0, each) : each);
    if (counted.some((each) => each !== 0)) {
      this.#add(this.#moment, counted, { number: CHANGE }, this.#hasWindow() || calls.length > 0);
    }
    const [first] = calls;
    const delay = first === undefined ? 0 : this.#ready(this.#levels, this.#entries, first.starts) - first.turn;
    this.#put(calls, Math.max(0, delay));
    this.#save();
  }

  /** Takes the calls off the list from which windows get starts back, and returns what is left of them. */
  #rewarded(starts: Starts): Call[] {
    const rewards = this.#budgets.map(({ kind }, i) => kind === "window" ? Math.max(0, -starts[i]!) : 0);
    const indexes = rewards.map((reward, i) => {
      const least = (this.#levels[i]?.count ?? 0) - reward;
      const index = this.#entries.findIndex(({ levels }) => (levels[i]?.count ?? 0) > least);
      return reward === 0 ? Infinity : Math.max(index, this.#firstAfter(this.#moment - this.#budgets[i]!.interval));
    });
    const calls = this.#cut(Math.min(...indexes, this.#entries.length)).reverse().map((call) => {
      const left = call.starts.map((each, i) => {
        if (i >= rewards.length || call.turn + this.#budgets[i]!.interval <= this.#moment) return each;
        const taken = Math.min(rewards[i]!, each);
        rewards[i]! -= taken;
        return each - taken;
      });
      return { ...call, starts: left };
    });
    return calls.reverse();
  }

  // The entries.

  #find(number: number): number {
    const index = this.#entries.findIndex((each) => each.number === number && each.turn + this.#span() > this.#moment);
    if (index >= 0) this.#list();
    return index;
  }

  #firstAfter(moment: number): number {
    const index = this.#entries.findIndex(({ turn }) => turn > moment);
    return index < 0 ? this.#entries.length : index;
  }

  #list(): void {
    if (this.#isListed) return;
    this.#add(this.#last, [], { number: CHANGE, levels: this.#levels });
    this.#isChanged = true;
  }

  /** Takes the entries from this one on off the list, with the starts of each. */
  #cut(index: number): Call[] {
    const cut = this.#entries.splice(index);
    if (cut.length === 0) return []; // the last start may have no entry
    const before = this.#entries.at(-1);
    this.#last = before?.turn ?? -Infinity;
    this.#levels = before?.levels ?? [];
    return cut.map((entry, i) => {
      const previous = cut[i - 1]?.levels ?? this.#levels;
      return { ...entry, starts: entry.levels.map(({ count }, j) => count - (previous[j]?.count ?? 0)) };
    });
  }

  #put(calls: readonly Call[], delay = 0): void {
    for (const call of calls) this.#add(call.turn + delay, call.starts, call);
  }

  // The levels.

  /**
   * Counts the starts at this moment, perhaps of a call with an entry: that has the levels of other callers' buckets.
   *
   * @param isListed Whether the call needs an entry.
   */
  #add(at: number, starts: Starts, entry: Partial<Entry>, isListed = true): void {
    const { number = at, told = at, levels: former } = entry;
    this.#levels = Array.from({ length: Math.max(starts.length, this.#levels.length) }, (_, i) => {
      const [level = UNUSED, budget, permits = 0] = [this.#levels[i], this.#budgets[i], starts[i]];
      const count = level.count + Math.max(0, permits);
      if (budget?.kind !== "bucket") return { ...level, ...former?.[i], count };
      if (permits === 0) return { ...level, count };
      return { count, missing: Math.max(0, missingOf(level, budget, at) + permits), since: at };
    });
    this.#last = at;
    this.#isListed = isListed;
    if (isListed) this.#entries.push({ turn: at, number, told, levels: this.#levels });
  }

  /** The turn of a call that comes now: nothing overtakes those that sleep until theirs. */
  #turnOf(starts: Starts): number {
    return Math.max(this.#moment, this.#last + 1, this.#ready(this.#levels, this.#entries, starts));
  }

  /** When the caller's budgets allow these starts behind these entries. */
  #ready(levels: Levels, entries: readonly Entry[], starts: Starts): number {
    const times = this.#budgets.map((budget, i) => {
      const { kind, limit, interval } = budget;
      const permits = Math.min(starts[i] ?? 0, limit);
      const level = levels[i] ?? UNUSED;
      if (permits === 0) return -Infinity;
      const excess = (kind === "bucket" ? missingOf(level, budget) : level.count) + permits - limit;
      if (kind === "bucket") return level.since + Math.ceil(excess * interval / limit);
      const gate = excess > 0 && entries.find((entry) => (entry.levels[i]?.count ?? 0) >= excess);
      return gate && gate.turn + this.#span() > this.#moment ? gate.turn + interval : -Infinity;
    });
    return Math.max(this.#blocked, ...times);
  }

  #remaining(): number {
    const [budget] = this.#budgets as [Terms];
    const { kind, limit, interval } = budget;
    const level = this.#levels[0] ?? UNUSED;
    if (kind === "bucket") return Math.floor(limit - missingOf(level, budget, this.#moment) + 1e-9);
    const over = this.#entries[this.#firstAfter(this.#moment - interval) - 1];
    return limit - level.count + (over?.levels[0]?.count ?? 0);
  }

  // The request.

  #hasWindow(): boolean {
    return this.#budgets.some(({ kind }) => kind === "window");
  }

  #span(): number {
    return Math.max(this.#longest, ...this.#budgets.map(({ interval }) => interval));
  }

  #others(): readonly Terms[] | undefined {
    const differ = JSON.stringify(this.#callers) !== JSON.stringify(this.#budgets);
    return differ ? this.#callers?.map((terms) => ({ ...terms, interval: terms.interval / 1000 })) : undefined;
  }

  #save(): void {
    this.#longest = this.#span();
    this.#seen = this.#moment;
    this.#shift = Math.max(this.#shift, this.#moment - clock());
    this.#entries.splice(0, this.#firstAfter(this.#moment - this.#longest) - 1); // those that are over, but for one
    const full = this.#ready(this.#levels, [], this.#budgets.map(({ limit }) => limit)); // the buckets, and no block is left
    const ends = Math.max(full, Math.max(this.#last, this.#moment) + this.#longest);
    this.#until = this.#moment + micros(Math.max(1, Math.ceil((ends - this.#moment) / 1000)));
  }

  /** A moment after the latest one, even if the clock stands still or was set back. */
  #time(): number {
    return Math.max(clock() + this.#shift, this.#seen + 1);
  }
}

/** What is missing in a bucket; at first, at the moment of its level. */
function missingOf({ missing, since }: Level, { limit, interval }: Terms, at = since): number {
  return Math.max(0, Math.min(missing, limit + MOST_MISSING * limit / interval) - (at - since) * limit / interval);
}

function clock(): number {
  return Math.floor(now() * 1000);
}

function micros(ms: number): number {
  return Math.ceil(ms * 1000);
}
