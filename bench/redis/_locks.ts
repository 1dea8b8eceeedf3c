/** The contenders over Redis, all with ioredis 5 and the same server, used as their documentation says. */
import { Redis } from "ioredis5";
import { Mutex } from "redis-semaphore";
import Redlock from "redlock";
import { ioRedis, RedisLock } from "../../lib/redis/mod.ts";

/** A lock by name: acquires, and returns the function that releases. */
export type Acquire = (name: string) => Promise<() => Promise<unknown>>;

/** A client and the locks over it. */
export interface Locks {
  readonly acquire: Acquire;
  close(): void;
}

const TTL = 30_000;

export const NAMES = ["interlock", "redis-semaphore", "redlock"] as const;
export type Name = typeof NAMES[number] | "PING twice" | "SET NX, compare and delete" | "two short scripts";

const RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

/** What no lock can save that reads the server's clock and a state, and writes it, in one script each way. */
const SHORT =
  "redis.call('TIME') redis.call('GET', KEYS[1]) redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1";

export async function locksOf(name: Name, url: string): Promise<Locks> {
  const client = new Redis(url);
  client.on("error", () => {});
  await client.ping();
  const close = () => client.disconnect();
  return { acquire: makers[name](client), close };
}

const makers: Record<Name, (client: Redis) => Acquire> = {
  interlock: (client) => {
    const locks = new Map<string, RedisLock>();
    return async (name) => {
      const lock = locks.get(name) ?? new RedisLock(ioRedis(client), name, { ttl: TTL });
      locks.set(name, lock);
      const lease = await lock.acquire();
      return () => lease.release();
    };
  },
  // The peers were typed against other versions of the client.
  "redis-semaphore": (client) => async (name) => {
    const mutex = new Mutex(client as never, name, { lockTimeout: TTL, acquireTimeout: 120_000 });
    await mutex.acquire();
    return () => mutex.release();
  },
  redlock: (client) => {
    const redlock = new Redlock([client as never], { retryCount: -1 });
    return async (name) => {
      const lock = await redlock.acquire([name], TTL);
      return () => lock.release();
    };
  },
  "PING twice": (client) => async () => {
    await client.ping();
    return () => client.ping();
  },
  "SET NX, compare and delete": (client) => async (name) => {
    await client.set(name, "me", "PX", TTL, "NX");
    return () => client.eval(RELEASE, 1, name, "me");
  },
  "two short scripts": (client) => {
    const sha = client.script("LOAD", SHORT) as Promise<string>;
    const run = async (name: string) => await client.evalsha(await sha, 1, name, "me", TTL);
    return async (name) => {
      await run(name);
      return () => run(name);
    };
  },
};
