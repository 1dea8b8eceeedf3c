/**
 * A process that hands a lock over to itself, leaves a lease held, closes its client, and has nothing left to do; with each
 * client, one after the other.
 */
import process from "node:process";
import { RedisLock } from "../../lib/redis/mod.ts";
import { clients } from "./_clients.ts";

for (const { name, connect } of clients) {
  const { backend, close } = await connect(process.argv[2]!);
  const lock = new RedisLock(backend, name, { ttl: 60_000 });
  const first = await lock.acquire();
  const second = lock.acquire();
  await lock.acquire({ timeout: 50 }).catch(() => {});
  await first.release();
  await (await second).release();
  await new RedisLock(backend, `${name}, left`, { ttl: 600_000 }).acquire();
  await close();
}
