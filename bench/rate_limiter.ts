/** Starts that are free, and how exact the limit is. */
import Bottleneck from "bottleneck";
import { RateLimiter as TokenLimiter } from "limiter";
import PQueue from "p-queue";
import pThrottle from "p-throttle";
import type { Lib, Maker, Situation } from "./_situation.ts";

const STARTS = 100_000;
/** bottleneck takes only multiples of 250 ms. */
const INTERVAL = 250;
const LIMIT = 20;

/** Calls `fn` when the limiter allows. */
type Start = (fn: () => void) => Promise<unknown>;

interface Limiter {
  start: Start;
  end?(): unknown;
}

type Make = (limit: number, interval: number) => Limiter;

const ours = (lib: Lib): Make => (limit, interval) => {
  const limiter = new lib.RateLimiter(limit, interval);
  return { start: (fn) => limiter.run(fn) };
};

const throttle = (strict: boolean): Make => (limit, interval) => ({
  start: pThrottle({ limit, interval, strict })((fn: () => void) => Promise.resolve(fn())),
});

const peers: Readonly<Record<string, Make>> = {
  "p-throttle": throttle(false),
  "p-throttle, strict": throttle(true),
  bottleneck: (limit, interval) => {
    const limiter = new Bottleneck({
      reservoir: limit,
      reservoirRefreshAmount: limit,
      reservoirRefreshInterval: interval,
    });
    return { start: (fn) => limiter.schedule(() => Promise.resolve(fn())), end: () => limiter.disconnect() };
  },
  limiter: (limit, interval) => {
    const limiter = new TokenLimiter({ tokensPerInterval: limit, interval });
    return { start: (fn) => limiter.removeTokens(1).then(fn) };
  },
  "p-queue": (limit, interval) => {
    const queue = new PQueue({ interval, intervalCap: limit });
    return { start: (fn) => queue.add(() => fn()) };
  },
};

/** Time for many starts that are all allowed at once. */
function free(make: Make): Maker {
  return () => {
    const { start, end } = make(10 * STARTS, 1000);
    return async () => {
      let started = 0;
      await Promise.all(Array.from({ length: STARTS }, () => start(() => void started++)));
      end?.();
      if (started !== STARTS) throw new Error(`${started} starts`);
    };
  };
}

/** One start, then three limits' worth of calls just before the first interval ends: the most starts of any window. */
function accuracy(make: Make): Maker {
  return () => {
    const { start, end } = make(LIMIT, INTERVAL);
    return async () => {
      const starts: number[] = [];
      const record = () => void starts.push(performance.now());
      await start(record);
      await new Promise((resolve) => setTimeout(resolve, INTERVAL - 20));
      await Promise.all(Array.from({ length: 3 * LIMIT }, () => start(record)));
      end?.();
      return mostInAnyWindow(starts);
    };
  };
}

function mostInAnyWindow(starts: readonly number[]): number {
  const inWindowOf = (first: number) => starts.filter((start) => start >= first && start - first < INTERVAL).length;
  return Math.max(...starts.map(inWindowOf));
}

function each(maker: (make: Make) => Maker, without?: string): Record<string, Maker> {
  const entries = Object.entries(peers).filter(([name]) => name !== without);
  return Object.fromEntries(entries.map(([name, make]) => [name, maker(make)]));
}

export const rateLimiter: readonly Situation[] = [
  {
    name: "rate limiter, 100,000 free starts",
    unit: "ns",
    operations: STARTS,
    ours: { interlock: (lib) => free(ours(lib)) },
    // bottleneck with a reservoir takes 5 ms for each of several starts at once, 500 s in all.
    peers: each(free, "bottleneck"),
    goals: [{
      against: "peer",
      ratio: 1,
      why:
        "this row is lost to p-throttle, in both of its modes. The default one counts starts in fixed intervals and lets " +
        "twice the limit start around the end of one (next row); the strict one let 21 of 20 start. Both call the function " +
        "inside of the call, so that only a promise outlives it; here it is called a turn of the microtasks later, and two " +
        "thirds of the time are the collection of 100,000 calls that wait for that. Each reads the clock once for a start. " +
        "Tried: a smaller asynchronous part (0.8 to 1.1 of the time, not kept).",
    }],
  },
  {
    name: `rate limiter, the most starts in any ${INTERVAL} ms with a limit of ${LIMIT}`,
    unit: "starts",
    operations: 1,
    rounds: 1,
    ours: { interlock: (lib) => accuracy(ours(lib)) },
    peers: each(accuracy),
    goals: [{ against: "value", ratio: LIMIT }],
  },
];
