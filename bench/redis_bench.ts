/**
 * Locks and rate limits over Redis. `deno bench` runs them over the backend in memory, which shows the module's own part.
 * `REDIS_URL=redis://… deno bench -A bench/redis_bench.ts` runs them over that server; it needs `deno task setup`.
 */
import { HAND_OVER, type Lib, register, situation, variable } from "./_situation.ts";
import { BareMutexes } from "./_floor.ts";
import type { LeaseOf } from "./_work.ts";
import type { Backend, IoRedisClient, RedisLock } from "../lib/redis/mod.ts";

const url = await variable("REDIS_URL");

async function backendOf(lib: Lib): Promise<Backend> {
  if (url === undefined) return lib.memoryBackend();
  const { client } = await import(new URL("peers/redis.ts", import.meta.url).href) as { client(): IoRedisClient };
  return lib.ioRedis(client());
}

async function ours(lib: Lib): Promise<LeaseOf> {
  const backend = await backendOf(lib);
  const locks = new Map<string, RedisLock>();
  return async (name) => {
    let lock = locks.get(name);
    if (lock === undefined) locks.set(name, lock = new lib.RedisLock(backend, name));
    const lease = await lock.acquire();
    return () => lease.release();
  };
}

const inMemory = (): LeaseOf => {
  const mutexes = new BareMutexes();
  return async (name) => {
    const guard = await mutexes.at(name).acquire();
    return async () => await Promise.resolve(guard.release());
  };
};

const common = url === undefined ? { ours, floor: inMemory } : { ours, peers: ["redis", "locks"] } as const;
const where = url === undefined ? "Redis in memory" : "Redis";

export const situations = await register([
  situation<LeaseOf>({
    ...common,
    name: `${where}, a free lock`,
    row: "acquire and release a Redis lock that is free",
    operation: "lease",
    operations: 100,
    main: true,
    play: (work, acquire) => work.lease(acquire, { tasks: 1, turns: 100 }),
  }),
  situation<LeaseOf>({
    ...common,
    name: `${where}, 50 free locks at once`,
    row: "acquire and release a Redis lock, 50 locks at a time",
    operation: "lease",
    operations: 500,
    play: (work, acquire) => work.lease(acquire, { tasks: 50, turns: 500, keys: 50 }),
  }),
  situation<LeaseOf>({
    ...common,
    name: `${where}, 10 tasks that come once to one lock`,
    row: HAND_OVER,
    operation: "lease",
    operations: 10,
    main: true,
    play: (work, acquire) => work.lease(acquire, { tasks: 10, turns: 10 }),
  }),
  situation<(fn: () => void) => Promise<unknown>>({
    name: `${where}, starts within a rate limit, 25 at a time`,
    row: "a start within a Redis rate limit, 25 at a time",
    operation: "start",
    operations: 25,
    ours: async (lib) => {
      const limiter = new lib.RedisRateLimiter(await backendOf(lib), "starts", 1_000_000, 1000);
      return (fn) => limiter.run(fn);
    },
    ...url === undefined ? { floor: () => (fn) => Promise.resolve().then(fn) } : { peers: ["redis", "rates"] },
    play: (work, start) => work.starts(start, 25),
  }),
]);
