/** The same for the Redis part, with clients of any driver: here shapes of them, for nothing else is installed. */
import type { Acquirable, Guard } from "@interlock/interlock";
import {
  bunRedis,
  type BunRedisClient,
  denoRedis,
  type DenoRedisClient,
  ioRedis,
  type IoRedisClient,
  type Lease,
  LeaseLostError,
  nodeRedis,
  type NodeRedisClient,
  RedisKeyedMutex,
  RedisLock,
  RedisRateLimiter,
  RedisRwLock,
  RedisSemaphore,
} from "@interlock/interlock/redis";

async function once<G extends AsyncDisposable>(thing: Acquirable<G>): Promise<void> {
  await using _guard = (await thing.tryAcquire()) ?? (await thing.acquire({ timeout: 1000 }));
}

export async function main(
  node: NodeRedisClient,
  io: IoRedisClient,
  bun: BunRedisClient,
  deno: DenoRedisClient,
): Promise<boolean> {
  const lock = new RedisLock(nodeRedis(node), "orders", { ttl: 10_000, renew: false });
  await once(lock);
  await once(new RedisSemaphore(ioRedis(io), "gateway", 3));
  await once(new RedisRwLock(ioRedis(io), "table").writer);
  const held: Acquirable<Lease> | Acquirable<Guard> = lock;
  await new RedisKeyedMutex(bunRedis(bun)).run("ada", (lease) => lease.fencingToken);
  denoRedis(deno, undefined);
  const limiter: Omit<RedisRateLimiter, "at"> = new RedisRateLimiter(nodeRedis(node), "crawl", 10, 1000).at(
    "example.com",
  );
  await limiter.acquire({ permits: 2, timeout: 100 });
  console.log(await limiter.tryAcquire(), await limiter.retryAfter(), limiter.limit, limiter.interval, limiter.name);
  await using lease = await lock.acquire();
  lease.signal.addEventListener("abort", () => lease.signal.reason instanceof LeaseLostError);
  return held === lock && await lease.release();
}
