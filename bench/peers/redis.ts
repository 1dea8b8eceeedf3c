/** Locks and rate limits over the server of REDIS_URL, all by ioredis 5 and as their documentation shows. */
import process from "node:process";
import Bottleneck from "bottleneck";
import { Redis } from "ioredis5";
import { RateLimiterQueue, RateLimiterRedis } from "rate-limiter-flexible";
import { Mutex } from "redis-semaphore";
import Redlock from "redlock";
import type { LeaseOf } from "../_work.ts";

const TTL = 30_000;

export function client(): Redis {
  return new Redis(process.env["REDIS_URL"]!).on("error", () => {});
}

/** The packages were typed against other versions of the client. */
export const locks: Readonly<Record<string, () => LeaseOf>> = {
  "redis-semaphore": () => {
    const redis = client();
    return async (name) => {
      const mutex = new Mutex(redis as never, name, { lockTimeout: TTL, acquireTimeout: 120_000 });
      await mutex.acquire();
      return () => mutex.release();
    };
  },
  "redlock": () => {
    const redlock = new Redlock([client() as never], { retryCount: -1 });
    return async (name) => {
      const lock = await redlock.acquire([name], TTL);
      return () => lock.release();
    };
  },
};

type Start = (fn: () => void) => Promise<unknown>;

export const rates: Readonly<Record<string, () => Start | Promise<Start>>> = {
  /** Its windows are fixed, and its queue is one for each process. */
  "rate-limiter-flexible": () => {
    const storeClient = client();
    const limiter = new RateLimiterQueue(
      new RateLimiterRedis({ storeClient, keyPrefix: "rate", points: 1_000_000, duration: 1 }),
    );
    return (fn) => limiter.removeTokens(1).then(fn);
  },
  /** Its reservoir is filled again at fixed times. */
  "bottleneck": async () => {
    const connection = new Bottleneck.IORedisConnection({ client: client() as never });
    const reservoir = { reservoir: 1e9, reservoirRefreshAmount: 1e9, reservoirRefreshInterval: 1000 };
    const limiter = new Bottleneck({ id: "rate", connection, ...reservoir });
    await limiter.ready();
    return (fn) => limiter.schedule(() => Promise.resolve(fn()));
  },
};
