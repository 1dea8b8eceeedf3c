/**
 * The budgets of a rate limiter, for one or many keys.
 *
 * @module
 */
import { checkArray, checkInteger, checkTimeout, must } from "./check.ts";
import type { Quota } from "./start_log.ts";

/** As users pass it: a number for every budget, or a list with a number for each. */
export type Permits = number | readonly number[];

/** How many starts a call takes from each budget. */
export type Starts = readonly number[];

/**
 * The numbers of a budget: those that can be set, and what remains of it now.
 *
 * @typeParam R A number, or a function that returns it for a key.
 */
export class Budget<R> {
  readonly #quota: Quota;
  readonly #apply: (change: () => void) => void;
  readonly #remaining: () => R;

  /** @param apply Calls its argument, which changes the quota, at the right moment. */
  constructor(quota: Quota, apply: (change: () => void) => void, remaining: () => R) {
    this.#quota = quota;
    this.#apply = apply;
    this.#remaining = remaining;
  }

  get remaining(): R {
    return this.#remaining();
  }

  get kind(): Quota["kind"] {
    return this.#quota.kind;
  }

  get limit(): number {
    return this.#quota.limit;
  }

  set limit(limit: number) {
    checkInteger(limit, "limit", 0);
    this.#apply(() => this.#quota.limit = limit);
  }

  get interval(): number {
    return this.#quota.interval;
  }

  set interval(interval: number) {
    checkInterval(interval, "interval");
    this.#apply(() => this.#quota.interval = interval);
  }
}

/**
 * Reads and checks the arguments of a limiter's constructor: `(limit, interval, options)` or `(budgets, options)`.
 *
 * @param readOptions Reads and checks the options, except for their kind.
 */
export function readBudgets<O>(
  args: readonly unknown[],
  readOptions: (options: object | undefined) => O,
): readonly [quotas: Quota[], options: O] {
  const [first, second, third] = args;
  const isList = typeof first === "object";
  const given = (isList ? second : third) as Partial<Quota> | undefined;
  const options = readOptions(given);
  return [isList ? readList(first, given?.kind) : [readQuota(first, second, given?.kind)], options];
}

/** @param defaultKind The kind of budgets that name none. */
function readList(list: unknown, defaultKind: unknown): Quota[] {
  checkArray(list, "budgets", "be a list of { limit, interval }");
  checkInteger(list.length, "budgets.length", 1);
  return Array.from(list as readonly (Partial<Quota> | undefined)[], (budget, i) => {
    must(typeof budget === "object" && budget !== null, `budgets[${i}]`, "be an object", budget);
    const { limit, interval, kind = defaultKind } = budget;
    return readQuota(limit, interval, kind, `budgets[${i}].`);
  });
}

/** @param prefix Comes before the names of members in messages. */
function readQuota(limit: unknown, interval: unknown, kind: unknown = "window", prefix = ""): Quota {
  checkInteger(limit, `${prefix}limit`, 1);
  checkInterval(interval, `${prefix}interval`);
  must(kind === "window" || kind === "bucket", `${prefix}kind`, 'be "window" or "bucket"', kind, RangeError);
  return { kind, limit, interval };
}

function checkInterval(interval: unknown, name: string): asserts interval is number {
  must(typeof interval === "number", name, "be a number of milliseconds", interval);
  must(interval > 0 && interval < Infinity, name, "be a finite number of milliseconds above 0", interval, RangeError);
}

/** Checks the time for which a limiter is blocked. */
export function checkBlock(ms: unknown): asserts ms is number {
  checkTimeout(ms, "ms");
  must(ms < Infinity, "ms", "be a finite number", ms, RangeError);
}

/** Reads the permits of a call. While a limit is 0, calls of any size wait. */
export function readPermits(permits: unknown, limits: readonly number[]): Starts {
  const maxima = limits.map((limit) => limit || Number.MAX_SAFE_INTEGER);
  if (!Array.isArray(permits)) checkInteger(permits, "permits", 1, Math.min(...maxima));
  const starts = readEach(permits, maxima);
  must(starts.some((each) => each > 0), "permits", "not all be 0", permits, RangeError);
  return starts;
}

/** Reads the permits of a reward or a penalty, which may be 0 or above the limits. */
export function readCounts(permits: unknown = 1, budgets: number): Starts {
  const maxima = Array<number>(budgets).fill(Number.MAX_SAFE_INTEGER);
  if (!Array.isArray(permits)) checkInteger(permits, "permits", 0);
  return readEach(permits, maxima);
}

function readEach(permits: unknown, maxima: readonly number[]): Starts {
  if (!Array.isArray(permits)) return maxima.map(() => permits as number);
  must(permits.length === maxima.length, "permits.length", `be ${maxima.length}`, permits.length, RangeError);
  return Array.from(permits as readonly unknown[], (each, i) => {
    checkInteger(each, `permits[${i}]`, 0, maxima[i]!);
    return each;
  });
}
