/**
 * One rate limit of a store in memory, kept as in `layout.ts`.
 *
 * @module
 */
import type { Starts } from "../../internal/budgets.ts";
import type { Quota } from "../../internal/start_log.ts";
import { now } from "../times.ts";
import { MOST_MISSING } from "./bucket.ts";
import { CHANGE, MOST_PLACED } from "./layout.ts";
import type { RateChange, StartAnswer } from "./rate_store.ts";

/** No real timer fires earlier than its time by this much, in µs. */
const MOST_EARLY = 2000;

/** Of one budget: the count of all starts; what is missing in a bucket, and since when. */
interface Level {
  readonly count: number;
  readonly missing: number;
  readonly since: number;
}

type Levels = readonly Level[];

interface Entry {
  /** The moment at which it may start, which a block or a late start moves. */
  readonly turn: number;
  /** The number by which the call is known: its first turn; or {@linkcode CHANGE}. */
  readonly number: number;
  /** The turn that its caller was told last. */
  readonly knownTurn: number;
  readonly levels: Levels;
}

/** An entry that was taken off the list, with its starts of each budget. */
interface Call extends Entry {
  readonly starts: Starts;
}

const UNUSED: Level = { count: 0, missing: 0, since: 0 };

/** The state after the last start. Times are µs. */
export class MemoryRate {
  #entries: Entry[] = [];
  #levels: Levels = [];
  /** The turn of the last start, and whether it has an entry. */
  #lastTurn = -Infinity;
  #isListed = true;
  /** The latest number that was given back. */
  #lastBack = -Infinity;
  #blockEnd = -Infinity;
  /** The longest interval in use. */
  #longestInterval = 0;
  /** Those of the last caller. */
  #lastCaller: readonly Quota[] | undefined;
  /** The latest moment, and the correction of the clock. */
  #latest = -Infinity;
  #clockShift = 0;
  /** When nothing counts any longer. */
  #overAt = -Infinity;
  // Of the present request: its time, its budgets in µs, and whether it changes the state even if it takes nothing.
  #now = 0;
  #budgets: readonly Quota[] = [];
  #isChanged = false;

  /** Whether nothing counts any longer, so that it can be dropped. */
  get isOver(): boolean {
    return this.#overAt <= this.#time();
  }

  /**
   * Begins a request.
   *
   * @param number Of a call that asks again. If it asks far before its turn, it has the timer of a replaced clock.
   */
  advance(budgets: readonly Quota[], number?: number): this {
    const asking = number === undefined ? undefined : this.#entries.find((each) => each.number === number);
    const knownTurn = asking?.knownTurn ?? -Infinity;
    if (knownTurn - this.#time() >= MOST_EARLY) {
      this.#latest = knownTurn - 1;
      this.#clockShift = Math.max(this.#clockShift, knownTurn - clock());
    }
    this.#budgets = budgets.map((budget) => ({ ...budget, interval: micros(budget.interval) }));
    this.#now = this.#time();
    this.#isChanged = this.#longest() > this.#longestInterval && this.#latest > -Infinity;
    return this;
  }

  start(starts: Starts, within: number): StartAnswer {
    if (this.#hasWindow()) this.#addEntryOfLastStart();
    const at = this.#turnOf(starts);
    const wait = (at - this.#now) / 1000;
    const differing = this.#differingBudgets();
    if (wait > within) {
      if (this.#isChanged) this.#storeHead();
      const waits = this.#now < this.#blockEnd || this.#lastTurn > this.#now;
      return { wait, number: undefined, remaining: waits ? 0 : Math.max(0, this.#remaining()), differing };
    }
    if (wait > 0) this.#addEntryOfLastStart();
    this.#add(at, starts, {}, this.#hasWindow() || wait > 0);
    this.#lastCaller = this.#budgets;
    this.#storeHead();
    return { wait, number: at, remaining: 0, differing };
  }

  askAgain(starts: Starts, number: number): StartAnswer {
    const index = this.#find(number);
    const entry = this.#entries[index];
    const ahead = this.#entries.slice(0, Math.max(0, index));
    const keepsTurn = entry === undefined
      ? number + this.#longest() <= this.#now && this.#blockEnd <= this.#now // it is over by now
      : entry.turn > this.#now || this.#readyAt(ahead.at(-1)?.levels ?? [], ahead, starts) <= entry.turn;
    let at = Math.max(this.#now, entry?.turn ?? 0);
    if (!keepsTurn) {
      const calls = entry === undefined ? [] : this.#cut(index).slice(1);
      const early = calls.filter(({ turn }) => turn <= this.#now);
      this.#putBack(early);
      this.#addEntryOfLastStart();
      at = this.#turnOf(starts);
      this.#add(at, starts, { number, levels: entry?.levels ?? [] });
      this.#putBack(calls.slice(early.length), Infinity);
      this.#isChanged = true;
    }
    if (this.#isChanged) this.#storeHead();
    return { wait: (at - this.#now) / 1000, number, remaining: 0, differing: undefined };
  }

  giveBack(starts: Starts, number: number): void {
    const index = this.#find(number);
    const isKnown = index >= 0;
    if (!isKnown && (this.#hasWindow() || number <= this.#lastBack || number > this.#lastTurn)) return;
    this.#lastBack = Math.max(this.#lastBack, number);
    const calls = this.#cut(isKnown ? index : this.#firstIndexAfter(this.#now));
    if (!isKnown) {
      this.#levels = this.#levels.map((level, i) => {
        const { limit = 0, interval = 1 } = this.#budgets[i] ?? {};
        const unrefilled = Math.max(0, (starts[i] ?? 0) - (this.#now - number) * limit / interval);
        return { ...level, missing: Math.max(0, level.missing - unrefilled) };
      });
    }
    this.#putBack(calls.slice(isKnown ? 1 : 0));
    this.#storeHead();
  }

  change({ starts = this.#budgets.map(() => 0), block = 0 }: RateChange): void {
    if (this.#hasWindow()) this.#addEntryOfLastStart();
    const calls = this.#cut(this.#firstIndexAfter(this.#now));
    if (block > 0) this.#blockEnd = Math.max(this.#blockEnd, this.#now + micros(block));
    this.#putBack(this.#cutRewarded(starts));
    const counted = starts.map((each, i) => this.#budgets[i]!.kind === "window" ? Math.max(0, each) : each);
    if (counted.some((each) => each !== 0)) {
      this.#add(this.#now, counted, { number: CHANGE }, this.#hasWindow() || calls.length > 0);
    }
    this.#putBack(calls, Infinity);
    this.#storeHead();
  }

  /** Takes the calls off the list from which windows get starts back, and returns what is left of them. */
  #cutRewarded(starts: Starts): Call[] {
    const toGiveBack = this.#budgets.map(({ kind }, i) => kind === "window" ? Math.max(0, -starts[i]!) : 0);
    const indexes = toGiveBack.map((count, i) => {
      const unrewarded = (this.#levels[i]?.count ?? 0) - count;
      const index = this.#entries.findIndex(({ levels }) => (levels[i]?.count ?? 0) > unrewarded);
      return count === 0 ? Infinity : Math.max(index, this.#firstIndexAfter(this.#now - this.#budgets[i]!.interval));
    });
    const calls = this.#cut(Math.min(...indexes, this.#entries.length)).reverse().map((call) => {
      const rest = call.starts.map((each, i) => {
        if (i >= toGiveBack.length || call.turn + this.#budgets[i]!.interval <= this.#now) return each;
        const givenBack = Math.min(toGiveBack[i]!, Math.max(0, each));
        toGiveBack[i]! -= givenBack;
        return each - givenBack;
      });
      return { ...call, starts: rest };
    });
    return calls.reverse();
  }

  // The entries.

  /** The index of the call with this number; -1 if it was given back or is over. */
  #find(number: number): number {
    const index = this.#entries.findIndex((each) => each.number === number && each.turn + this.#longest() > this.#now);
    if (index >= 0) this.#addEntryOfLastStart();
    return index;
  }

  #firstIndexAfter(moment: number): number {
    const index = this.#entries.findIndex(({ turn }) => turn > moment);
    return index < 0 ? this.#entries.length : index;
  }

  /** Adds an entry for the last start, unless it has one. */
  #addEntryOfLastStart(): void {
    if (this.#isListed) return;
    this.#add(this.#lastTurn, [], { number: CHANGE, levels: this.#levels });
    this.#isChanged = true;
  }

  /** Takes the entries from this one on off the list, with the starts of each. */
  #cut(index: number): Call[] {
    const cut = this.#entries.splice(index);
    if (cut.length === 0) return []; // the last start may have no entry
    const before = this.#entries.at(-1);
    this.#lastTurn = before?.turn ?? -Infinity;
    this.#levels = before?.levels ?? [];
    return cut.map((entry, i) => {
      const previous = cut[i - 1]?.levels ?? this.#levels;
      const starts = entry.levels.map(({ count, missing, since }, j) => {
        const [level, budget] = [previous[j] ?? UNUSED, this.#budgets[j]];
        const isReward = count === level.count && budget?.kind === "bucket" && since > level.since; // it is not counted
        return isReward ? missing - missingOf(level, budget, since) : count - level.count;
      });
      return { ...entry, starts };
    });
  }

  /** Puts calls back on the list, later by `most` at most; see `layout.ts`. */
  #putBack(calls: readonly Call[], most = 0): void {
    let least = most;
    for (const [x, call] of calls.entries()) {
      let at = call.turn;
      if (most > 0) {
        const ready = x < MOST_PLACED ? this.#turnOf(call.starts) : at + least;
        at = Math.max(at, Math.min(at + most, ready), this.#lastTurn + 1);
        [least, most] = [Math.min(least, at - call.turn), Math.min(most, at - call.turn + this.#longest())];
      }
      this.#add(at, call.starts, call);
    }
  }

  // The levels.

  /**
   * Counts the starts at this moment, perhaps of a call with an entry: that has the levels of other callers' buckets.
   *
   * @param isListed Whether the call needs an entry.
   */
  #add(at: number, starts: Starts, entry: Partial<Entry>, isListed = true): void {
    const { number = at, knownTurn = at, levels: former } = entry;
    this.#levels = Array.from({ length: Math.max(starts.length, this.#levels.length) }, (_, i) => {
      const [level = UNUSED, budget, permits = 0] = [this.#levels[i], this.#budgets[i], starts[i]];
      const count = level.count + Math.max(0, permits);
      if (budget?.kind !== "bucket") return { ...level, ...former?.[i], count };
      if (permits === 0) return { ...level, count };
      return { count, missing: Math.max(0, missingOf(level, budget, at) + permits), since: at };
    });
    this.#lastTurn = at;
    this.#isListed = isListed;
    if (isListed) this.#entries.push({ turn: at, number, knownTurn, levels: this.#levels });
  }

  /** The turn of a call that comes now: nothing overtakes those that sleep until theirs. */
  #turnOf(starts: Starts): number {
    return Math.max(this.#now, this.#lastTurn + 1, this.#readyAt(this.#levels, this.#entries, starts));
  }

  /** When the caller's budgets allow these starts behind these entries, with the levels after the last one. */
  #readyAt(levels: Levels, entries: readonly Entry[], starts: Starts): number {
    const times = this.#budgets.map((budget, i) => {
      const { kind, limit, interval } = budget;
      const permits = Math.min(starts[i] ?? 0, limit);
      const level = levels[i] ?? UNUSED;
      if (permits <= 0) return -Infinity;
      const excess = (kind === "bucket" ? missingOf(level, budget) : level.count) + permits - limit;
      if (kind === "bucket") return level.since + Math.ceil(excess * interval / limit);
      // The start that has to be over before.
      const gate = excess > 0 && entries[entries.findLastIndex(({ levels }) => (levels[i]?.count ?? 0) < excess) + 1];
      return gate && gate.turn + this.#longest() > this.#now ? gate.turn + interval : -Infinity;
    });
    return Math.max(this.#blockEnd, ...times);
  }

  /** How many starts could be made now, by the first budget. */
  #remaining(): number {
    const [budget] = this.#budgets as [Quota];
    const { kind, limit, interval } = budget;
    const level = this.#levels[0] ?? UNUSED;
    if (kind === "bucket") return Math.floor(limit - missingOf(level, budget, this.#now) + 1e-9);
    const outside = this.#entries[this.#firstIndexAfter(this.#now - interval) - 1];
    return limit - level.count + (outside?.levels[0]?.count ?? 0);
  }

  // The request.

  #hasWindow(): boolean {
    return this.#budgets.some(({ kind }) => kind === "window");
  }

  /** The longest interval in use, with those of the present request. */
  #longest(): number {
    return Math.max(this.#longestInterval, ...this.#budgets.map(({ interval }) => interval));
  }

  /** The budgets of the last caller, in ms; undefined if they are the same. */
  #differingBudgets(): readonly Quota[] | undefined {
    const differ = JSON.stringify(this.#lastCaller) !== JSON.stringify(this.#budgets);
    return differ ? this.#lastCaller?.map((budget) => ({ ...budget, interval: budget.interval / 1000 })) : undefined;
  }

  #storeHead(): void {
    this.#longestInterval = this.#longest();
    this.#latest = this.#now;
    this.#clockShift = Math.max(this.#clockShift, this.#now - clock());
    // Those that are over, but for one.
    this.#entries.splice(0, this.#firstIndexAfter(this.#now - this.#longestInterval) - 1);
    const fullAt = this.#readyAt(this.#levels, [], this.#budgets.map(({ limit }) => limit)); // the buckets, after any block
    const endsAt = Math.max(fullAt, Math.max(this.#lastTurn, this.#now) + this.#longestInterval);
    this.#overAt = this.#now + micros(Math.max(1, Math.ceil((endsAt - this.#now) / 1000)));
  }

  /** A moment after the latest one, even if the clock stands still or was set back. */
  #time(): number {
    return Math.max(clock() + this.#clockShift, this.#latest + 1);
  }
}

/** What is missing in a bucket; at first, at the moment of its level. */
function missingOf({ missing, since }: Level, { limit, interval }: Quota, at = since): number {
  return Math.max(0, Math.min(missing, limit + MOST_MISSING * limit / interval) - (at - since) * limit / interval);
}

/** The present time in whole µs. */
function clock(): number {
  return Math.floor(now() * 1000);
}

function micros(ms: number): number {
  return Math.ceil(ms * 1000);
}
