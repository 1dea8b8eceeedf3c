/** A process that hands a lock over to itself, leaves a lease held, closes its client, and has nothing left to do. */
import process from "node:process";
import { RedisLock } from "../../lib/redis/mod.ts";
import { clients } from "./_clients.ts";

const [, , url, name] = process.argv;
const { backend, close } = await clients.find((client) => client.name === name)!.connect(url!);
const lock = new RedisLock(backend, "a", { ttl: 60_000 });
const first = await lock.acquire();
const second = lock.acquire();
await lock.acquire({ timeout: 50 }).catch(() => {});
await first.release();
await (await second).release();
await new RedisLock(backend, "b", { ttl: 600_000 }).acquire();
await close();
