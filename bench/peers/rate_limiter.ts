/** Rate limits of other packages. bottleneck with a reservoir takes 5 ms for each start, and so is left out. */
import { RateLimiter as TokenLimiter } from "limiter";
import PQueue from "p-queue";
import pThrottle from "p-throttle";

type Start = (fn: () => void) => Promise<unknown>;

const [LIMIT, INTERVAL] = [1_000_000, 10];

const throttle = (strict: boolean) => (): Start =>
  pThrottle({ limit: LIMIT, interval: INTERVAL, strict })((fn: () => void) => Promise.resolve(fn()));

export const free: Readonly<Record<string, () => Start>> = {
  "p-throttle": throttle(false),
  "p-throttle, strict": throttle(true),
  "limiter": () => {
    const limiter = new TokenLimiter({ tokensPerInterval: LIMIT, interval: INTERVAL });
    return (fn) => limiter.removeTokens(1).then(fn);
  },
  "p-queue": () => {
    const queue = new PQueue({ interval: INTERVAL, intervalCap: LIMIT });
    return (fn) => queue.add(() => fn());
  },
};
