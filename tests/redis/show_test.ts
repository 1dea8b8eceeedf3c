/** console.log of everything over Redis: its class and its public state. */
import assert from "node:assert/strict";
import { RedisKeyedMutex, RedisLock, RedisRateLimiter, RedisRwLock, RedisSemaphore } from "../../lib/redis/mod.ts";
import { logged } from "../_logged.ts";
import { redisTest } from "./_clients.ts";

redisTest("console.log shows classes, names and public state", async ({ backend }) => {
  const lock = new RedisLock(backend, "orders");
  const table = new RedisRwLock(backend, "table");
  const expected: [object, string][] = [
    [lock, "RedisLock { name: 'orders' }"],
    [new RedisSemaphore(backend, "gateway", 3), "RedisSemaphore { name: 'gateway', permits: 3 }"],
    [new RedisKeyedMutex(backend), "RedisKeyedMutex { prefix: 'interlock:' }"],
    [table, "RedisRwLock { name: 'table' }"],
    [new RedisRateLimiter(backend, "crawl", 2, 1000), "RedisRateLimiter { name: 'crawl', limit: 2, interval: 1000 }"],
    [table.reader, "Acquirable { kind: 'redis-reader', name: 'table' }"],
    [new RedisKeyedMutex(backend).at("ann"), "Acquirable { kind: 'redis-key', key: 'ann' }"],
  ];
  for (const [thing, text] of expected) assert.equal(logged(thing), text);
  const lease = await lock.acquire();
  const { id, fencingToken } = lease;
  assert.equal(logged(lease), `Lease { id: '${id}', held: true, fencingToken: ${fencingToken} }`);
  await lease.release();
  assert.equal(logged(lease), `Lease { id: '${id}', held: false, fencingToken: ${fencingToken} }`);
});
