/** Every public class of the entry ./redis. */
import { RedisKeyedMutex, RedisLock, RedisRateLimiter, RedisRwLock, RedisSemaphore } from "../../lib/redis/mod.ts";
import { holdable, kind, type Kinds } from "./kind.ts";

const OPTIONS = { ttl: 2000 };

export const redisKinds: Kinds = {
  RedisLock: kind({
    make: (_, { backend }) => new RedisLock(backend, "kind", OPTIONS),
    calls: (lock) => holdable(lock),
    hasName: false,
  }),
  RedisSemaphore: kind({
    make: (_, { backend }) => new RedisSemaphore(backend, "kind", 1, OPTIONS),
    calls: (semaphore) => holdable(semaphore),
    hasName: false,
  }),
  RedisRwLock: kind({
    make: (_, { backend }) => new RedisRwLock(backend, "kind", OPTIONS),
    calls: ({ reader, writer }) => ({ ...holdable(reader, writer, "reader."), ...holdable(writer, writer, "writer.") }),
    hasName: false,
  }),
  RedisKeyedMutex: kind({
    make: (_, { backend }) => new RedisKeyedMutex(backend, OPTIONS),
    calls: (mutex) => holdable(mutex.at("kind"), undefined, "at(key)."),
    hasName: false,
  }),
  RedisRateLimiter: kind({
    make: (_, { backend }) => new RedisRateLimiter(backend, "kind", 1, 50),
    calls: (limiter) => {
      const block = async () => {
        await limiter.tryAcquire();
        return () => {};
      };
      return {
        acquire: { wait: (options) => limiter.acquire(options), block },
        run: { wait: (options) => limiter.run(() => {}, options), block },
      };
    },
    neverHeld: "redis-rate-limiter",
    hasName: false,
  }),
};
