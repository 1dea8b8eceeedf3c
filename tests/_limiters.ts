/** RateLimiter and KeyedRateLimiter with the same members, for tests that hold for both. */
import { KeyedRateLimiter, type RateBudget, RateLimiter, type RateLimiterOptions } from "../mod.ts";

export type Permits = number | readonly number[];

/** A budget, whose numbers can be set. */
export interface Budget {
  limit: number;
  interval: number;
  readonly kind: "window" | "bucket";
}

/** A limiter, for one key or without keys. */
export interface Limiter {
  readonly whole: RateLimiter | KeyedRateLimiter<string>;
  readonly budgets: readonly Budget[];
  waiting(): number;
  remaining(budget?: number): number;
  acquire(options?: RateLimiterOptions): Promise<void>;
  run<T>(fn: () => T, options?: RateLimiterOptions): Promise<T>;
  tryAcquire(permits?: Permits): boolean;
  retryAfter(permits?: Permits): number;
  block(ms: number): void;
  reward(permits?: Permits): void;
  penalty(permits?: Permits): void;
}

function plain(list: readonly RateBudget[]): Limiter {
  const one = new RateLimiter(list);
  return {
    whole: one,
    budgets: one.budgets,
    waiting: () => one.waiting,
    remaining: (budget = 0) => one.budgets[budget]!.remaining,
    acquire: (options) => one.acquire(options),
    run: (fn, options) => one.run(fn, options) as Promise<never>,
    tryAcquire: (permits) => one.tryAcquire(permits),
    retryAfter: (permits) => one.retryAfter(permits),
    block: (ms) => one.block(ms),
    reward: (permits) => one.reward(permits),
    penalty: (permits) => one.penalty(permits),
  };
}

/** The limiter of the key "a". */
function keyed(list: readonly RateBudget[]): Limiter {
  const all = new KeyedRateLimiter<string>(list);
  return {
    whole: all,
    budgets: all.budgets,
    waiting: () => all.waiting("a"),
    remaining: (budget = 0) => all.budgets[budget]!.remaining("a"),
    acquire: (options) => all.acquire("a", options),
    run: (fn, options) => all.run("a", fn, options) as Promise<never>,
    tryAcquire: (permits) => all.tryAcquire("a", permits),
    retryAfter: (permits) => all.retryAfter("a", permits),
    block: (ms) => all.block("a", ms),
    reward: (permits) => all.reward("a", permits),
    penalty: (permits) => all.penalty("a", permits),
  };
}

export const limiters = Object.entries({ RateLimiter: plain, KeyedRateLimiter: keyed });
