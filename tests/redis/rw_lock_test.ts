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

redisTest("all waiters that fit are granted, even if one run of the script cannot", async ({ backend }) => {
  // With this ttl no heartbeat is sent before the time-out.
  const lock = new RedisRwLock(backend, "a", { ttl: 3_600_000 });
  for (const free of [(lease: Lease) => lease.release(), () => lock.forceRelease()]) {
    const writer = await lock.writer.acquire();
    const readers = Array.from({ length: 520 }, () => lock.reader.acquire({ timeout: 90_000 }));
    await until(async () => (await lock.inspect()).waiters.length === readers.length);
    assert.equal(await free(writer), true);
    const leases = await Promise.all(readers);
    await Promise.all(leases.map((lease) => lease.release()));
  }
});
