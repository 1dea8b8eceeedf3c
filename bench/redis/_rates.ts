/**
 * The rate limits across processes, all with ioredis 5 and the same server, used as their documentation says: each call
 * waits until it may start.
 */
import Bottleneck from "bottleneck";
import { Redis } from "ioredis5";
import { RateLimiterQueue, RateLimiterRedis } from "rate-limiter-flexible";
import { ioRedis, RedisRateLimiter } from "../../lib/redis/mod.ts";

/** Resolves when the call may start. */
export type Start = () => Promise<unknown>;

/** `limit` starts in `interval` milliseconds, whole seconds. */
export interface Limit {
  readonly limit: number;
  readonly interval: number;
}

export const RATES = ["interlock", "rate-limiter-flexible", "bottleneck"] as const;
export type RateName = typeof RATES[number];

export interface Rate {
  readonly start: Start;
  /** The same, of a limit that no call reaches. */
  readonly warm: Start;
  close(): Promise<unknown>;
}

/** A client of its own, and the limit over it. */
export async function rateOf(name: RateName, url: string, limit: Limit): Promise<Rate> {
  const client = new Redis(url);
  client.on("error", () => {});
  await client.ping();
  return await makers[name](client, limit);
}

/** No start waits for it. */
export const FREE: Limit = { limit: 1_000_000, interval: 60_000 };

const makers: Record<RateName, (client: Redis, limit: Limit) => Rate | Promise<Rate>> = {
  interlock: (client, { limit, interval }) => {
    const limiter = new RedisRateLimiter(ioRedis(client), "rate", limit, interval);
    const warm = new RedisRateLimiter(ioRedis(client), "warm", FREE.limit, FREE.interval);
    return { start: () => limiter.acquire(), warm: () => warm.acquire(), close: () => client.quit() };
  },
  // Its windows are fixed; its queue is one for each process.
  "rate-limiter-flexible": (client, limit) => {
    const queue = (keyPrefix: string, { limit, interval }: Limit) => {
      const options = { storeClient: client, keyPrefix, points: limit, duration: interval / 1000 };
      return new RateLimiterQueue(new RateLimiterRedis(options));
    };
    const [mine, warm] = [queue("rate", limit), queue("warm", FREE)];
    return { start: () => mine.removeTokens(1), warm: () => warm.removeTokens(1), close: () => client.quit() };
  },
  // Its reservoir is filled again at fixed times.
  bottleneck: async (client, limit) => {
    const connection = new Bottleneck.IORedisConnection({ client: client as never });
    const make = async (id: string, { limit, interval }: Limit) => {
      const reservoir = { reservoir: limit, reservoirRefreshAmount: limit, reservoirRefreshInterval: interval };
      const limiter = new Bottleneck({ id, connection, ...reservoir });
      limiter.on("error", () => {});
      await limiter.ready();
      return () => limiter.schedule(() => Promise.resolve());
    };
    const close = () => connection.disconnect(false).then(() => client.disconnect());
    return { start: await make("rate", limit), warm: await make("warm", FREE), close };
  },
};
