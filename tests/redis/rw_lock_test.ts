/** Readers and writers across machines. */
import assert from "node:assert/strict";
import { type Lease, RedisRwLock } from "../../lib/redis/mod.ts";
import { redisTest, until } from "./_clients.ts";

redisTest("readers share, a writer is alone, and neither starves", async ({ backend }) => {
  const lock = new RedisRwLock(backend, "a");
  const readers: Lease[] = [await lock.reader.acquire(), await lock.reader.acquire()];
  assert.equal(await lock.writer.tryAcquire(), undefined);
  const writer = lock.writer.acquire();
  await until(async () => (await lock.inspect()).waiters.length === 1);
  assert.equal(await lock.reader.tryAcquire(), undefined);
  const late = [lock.reader.acquire(), lock.reader.acquire()];
  await until(async () => (await lock.inspect()).waiters.length === 3);
  for (const lease of readers) await lease.release();
  const alone = await writer;
  assert.equal((await lock.inspect()).holders.length, 1);
  await alone.release();
  for (const lease of await Promise.all(late)) await lease.release();
});
