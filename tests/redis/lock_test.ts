/** A lease: tokens, renewal, loss and release. */
import assert from "node:assert/strict";
import { LeaseLostError, NotHeldError, RedisLock, RedisSemaphore } from "../../lib/redis/mod.ts";
import { eachClient, redisTest, until } from "./_clients.ts";

eachClient("a lease is renewed while it is held, and its properties show it", async ({ backend, connect }) => {
  const lock = new RedisLock(backend, "a", { ttl: 3000 });
  const lease = await lock.acquire();
  const { expiresAt } = lease;
  assert.equal(lease.ttl, 3000);
  assert.ok(Number.isSafeInteger(lease.fencingToken));
  await until(() => lease.expiresAt > expiresAt + 300);
  assert.equal(lease.held, true);
  assert.equal(lease.signal.aborted, false);
  assert.equal(await new RedisLock(await connect(), "a").tryAcquire(), undefined);
  const [holder] = (await lock.inspect()).holders;
  assert.equal(holder!.id, lease.id);
  assert.equal(holder!.fencingToken, lease.fencingToken);
  assert.equal(await lease.release(), true);
  assert.equal(lease.held, false);
  assert.equal(lease.signal.aborted, false);
});

redisTest("release returns the same promise, and extend rejects after it", async ({ backend }) => {
  const lease = await new RedisLock(backend, "a").acquire();
  const released = lease.release();
  assert.equal(lease.held, false);
  assert.equal(lease.release(), released);
  await lease[Symbol.asyncDispose]();
  assert.equal(await released, true);
  await assert.rejects(lease.extend(), NotHeldError);
});

redisTest("extend sets the remaining time, and never adds to it", async ({ backend }) => {
  for (const lock of [new RedisLock(backend, "a"), new RedisSemaphore(backend, "a", 2)]) {
    const lease = await lock.acquire();
    for (const ttl of [60_000, 5000, 90_000]) {
      await lease.extend(ttl);
      const [holder] = (await lock.inspect()).holders;
      assert.ok(holder!.expiresIn <= ttl && holder!.expiresIn > ttl - 4000, `${holder!.expiresIn} of ${ttl}`);
      assert.equal(lease.ttl, ttl);
      assert.ok(Math.abs(lease.expiresAt - Date.now() - ttl) < 4000);
    }
    for (const bad of [0, -1, NaN, Infinity, 1.5, 2 ** 31]) await assert.rejects(lease.extend(bad), RangeError);
    await assert.rejects(lease.extend("5" as never), TypeError);
    await lease.release();
  }
});

redisTest("tokens grow with every grant, across a flush and an empty restart", async ({ server, backend }) => {
  const lock = new RedisLock(backend, "a");
  const semaphore = new RedisSemaphore(backend, "a", 3);
  let last = 0;
  for (const disaster of [() => {}, () => server.send("FLUSHALL"), () => server.kill().then(() => server.start())]) {
    await disaster();
    for (let i = 0; i < 3; i++) {
      const lease = await lock.acquire({ timeout: 10_000 });
      assert.ok(lease.fencingToken > last);
      last = lease.fencingToken;
      await lease.release();
    }
    const leases = await Promise.all([1, 2, 3].map(() => semaphore.acquire({ timeout: 10_000 })));
    assert.equal(new Set(leases.map((lease) => lease.fencingToken)).size, 3);
    for (const lease of leases) await lease.release();
  }
}, { isAlone: true });

redisTest("a hold whose data is gone is lost, and never taken again silently", async ({ server, backend }) => {
  for (const lock of [new RedisLock(backend, "a", { ttl: 3000 }), new RedisSemaphore(backend, "a", 1, { ttl: 3000 })]) {
    const lease = await lock.acquire();
    let aborts = 0;
    lease.signal.addEventListener("abort", () => aborts++);
    await server.send("FLUSHALL");
    await until(() => lease.signal.aborted);
    assert.equal(lease.held, false);
    assert.ok(lease.signal.reason instanceof LeaseLostError);
    assert.match(lease.signal.reason.message, /^Cannot keep .*: Redis no longer knows/);
    assert.equal(await lease.release(), false);
    await assert.rejects(lease.extend(), LeaseLostError);
    assert.equal(aborts, 1);
    assert.equal(await server.send("DBSIZE"), 0);
  }
});

redisTest("without renewal a lease ends with its ttl, and the next waiter is granted", async ({ backend, connect }) => {
  const lease = await new RedisLock(backend, "a", { ttl: 1500, renew: false }).acquire();
  const next = await new RedisLock(await connect(), "a", { ttl: 5000 }).acquire({ timeout: 60_000 });
  assert.equal(lease.held, false);
  assert.match(`${lease.signal.reason}`, /its ttl of 1500 ms is over, and it is not renewed \(renew: false\)$/);
  assert.ok(next.fencingToken > lease.fencingToken);
  assert.equal(await lease.release(), false);
  assert.equal(next.held, true);
  await next.release();
});

redisTest("forceRelease hands off, and the old holder's signal aborts", async ({ server, backend }) => {
  for (const lock of [new RedisLock(backend, "a", { ttl: 3000 }), new RedisSemaphore(backend, "a", 1, { ttl: 3000 })]) {
    await server.send("FLUSHALL");
    assert.equal(await lock.forceRelease(), false);
    assert.deepEqual(await server.send("KEYS", "*"), []);
    await (await lock.acquire()).release();
    for (let i = 0; i < 2; i++) assert.equal(await lock.forceRelease(), false);
    const lease = await lock.acquire();
    const waiting = lock.acquire();
    await until(async () => (await lock.inspect()).waiters.length === 1);
    assert.equal(await lock.forceRelease(), true);
    const next = await waiting;
    await until(() => lease.signal.aborted);
    assert.equal(await lease.release(), false);
    assert.equal(next.held, true);
    assert.equal(await next.release(), true);
    await lock.acquire();
    assert.deepEqual([await lock.forceRelease(), await lock.forceRelease()], [true, false]);
  }
});
