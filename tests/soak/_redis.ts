/** Random use of everything over Redis. */
import { type Backend, RedisKeyedMutex, RedisLock, RedisRwLock, RedisSemaphore } from "../../lib/redis/mod.ts";
import type { Random } from "../_tools.ts";
import type { RandomLimits, Visit } from "./_local.ts";

const OPTIONS = { ttl: 2000 };

export function redisVisits(backends: readonly Backend[], random: Random, limits: RandomLimits): Visit[] {
  const work = () => new Promise<void>((resolve) => setTimeout(resolve, random.below(3)));
  return backends.flatMap((backend) => {
    const keyed = new RedisKeyedMutex(backend, OPTIONS);
    const rw = new RedisRwLock(backend, "soak", OPTIONS);
    const lock = new RedisLock(backend, "soak", OPTIONS);
    const semaphore = new RedisSemaphore(backend, "soak", 3, OPTIONS);
    return [
      () => lock.run(work, limits.options()),
      () => semaphore.run(work, limits.options()),
      () => keyed.run(`key ${random.below(50)}`, work, limits.options()),
      () => rw.reader.run(work, limits.options()),
      () => rw.writer.run(work, limits.options()),
      async () => await (await lock.tryAcquire())?.release(),
    ];
  });
}
