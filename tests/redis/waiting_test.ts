/** Waiting in the queue: order, hand-over, and waiters that are dead, unreachable or cancelled. */
import assert from "node:assert/strict";
import { RedisLock, RedisRwLock, RedisSemaphore } from "../../lib/redis/mod.ts";
import { eachClient, redisTest, until } from "./_clients.ts";

eachClient("two processes take turns, two commands each", async ({ server, backend, connect }) => {
  const options = { ttl: 3_600_000 }; // a slow machine needs no heartbeat
  const locks = [new RedisLock(backend, "a", options), new RedisLock(await connect(), "a", options)];
  const order: number[] = [];
  const round = async (count: number) => {
    const first = await locks[0]!.acquire();
    const waiters: Promise<unknown>[] = [];
    for (let i = 0; i < count; i++) {
      waiters.push(locks[i % 2]!.run(() => void order.push(i)));
      await until(async () => Number(await server.send("ZCARD", "interlock:lock:3:{a}:queue")) === i + 1);
    }
    await first.release();
    await Promise.all(waiters);
  };
  await round(4); // both subscriptions are there now
  order.length = 0;
  const before = await server.calls("evalsha", "eval");
  await round(20);
  assert.deepEqual(order, Array.from({ length: 20 }, (_, i) => i));
  const used = await server.calls("evalsha", "eval") - before;
  assert.ok(used >= 42 && used < 50, `${used} commands`); // a subscription that was idle for a second is checked anew
});

for (
  const [what, disaster] of [
    ["forgotten scripts", ["SCRIPT", "FLUSH"]],
    ["killed listeners", ["CLIENT", "KILL", "TYPE", "pubsub"]],
    ["killed connections", ["CLIENT", "KILL", "TYPE", "normal"]],
  ] as const
) {
  redisTest(`waiters survive ${what}, in order`, async ({ server, backend }) => {
    const lock = new RedisLock(backend, "a", { ttl: 3000 });
    const first = await lock.acquire();
    const order: number[] = [];
    const waiters: Promise<unknown>[] = [];
    for (let i = 0; i < 3; i++) {
      waiters.push(lock.run(() => void order.push(i), { timeout: 60_000 }));
      await until(async () => (await lock.inspect()).waiters.length === i + 1);
    }
    await server.send(...disaster);
    // Waiters that could not be notified rejoin the queue as soon as they can.
    await until(async () => (await lock.inspect()).waiters.length === 3);
    await first.release();
    await Promise.all(waiters);
    assert.deepEqual(order, [0, 1, 2]);
  });
}

redisTest("waiters survive a flush, one at a time", async ({ server, backend }) => {
  const lock = new RedisLock(backend, "a", { ttl: 3000 });
  const first = await lock.acquire();
  let last = first.fencingToken, inside = 0;
  const waiters = [0, 1, 2].map(() =>
    lock.run((lease) => {
      assert.equal(++inside, 1);
      assert.ok(lease.fencingToken > last);
      last = lease.fencingToken;
      inside--;
    }, { timeout: 60_000 })
  );
  await until(async () => (await lock.inspect()).waiters.length === 3);
  await server.send("FLUSHALL");
  await Promise.all(waiters);
  assert.equal(await first.release(), false);
});

redisTest("a cancelled call leaves nothing in Redis, and is granted nothing", async ({ server, backend }) => {
  const lock = new RedisLock(backend, "a");
  const semaphore = new RedisSemaphore(backend, "a", 2);
  for (const held of [lock, semaphore]) {
    const leases = [await held.acquire()];
    if (held === semaphore) leases.push(await held.acquire());
    const controller = new AbortController();
    // Also aborted while the first command is in flight.
    const early = held.acquire({ signal: controller.signal });
    controller.abort();
    await assert.rejects(early, (error) => error === controller.signal.reason);
    await assert.rejects(held.acquire({ timeout: 30 }), { name: "TimeoutError" });
    await until(async () => (await held.inspect()).waiters.length === 0);
    for (const lease of leases) await lease.release();
    await until(async () => (await held.inspect()).holders.length === 0);
  }
  for (const key of await server.send("KEYS", "*") as string[]) {
    assert.doesNotMatch(key, /:(order|waiters)$/);
    assert.ok(Number(await server.send("PTTL", key)) > 0, `${key} has no time to live`);
  }
});

redisTest("an idle name is kept for a minute", async ({ server, backend }) => {
  const options = { ttl: 3000 };
  for (
    const held of [
      new RedisLock(backend, "a", options),
      new RedisSemaphore(backend, "a", 2, options),
      new RedisRwLock(backend, "a", options).writer,
    ]
  ) {
    const lease = await held.acquire();
    const waiting = held.acquire();
    await lease.release();
    await (await waiting).release();
  }
  const keys = await server.send("KEYS", "*") as string[];
  assert.equal(keys.length, 3, String(keys));
  for (const key of keys) {
    const life = Number(await server.send("PTTL", key));
    assert.ok(life > 50_000 && life <= 60_000, `${key} lives for ${life} ms`);
  }
});

redisTest("a caller without the right to publish can still release", async ({ server, backend }) => {
  const lock = new RedisLock(backend, "a", { ttl: 3000 });
  const first = await lock.acquire();
  const second = lock.acquire();
  await until(async () => (await lock.inspect()).waiting === 1);
  await server.send("ACL", "SETUSER", "default", "-publish");
  assert.equal(await first.release(), true);
  await server.send("ACL", "SETUSER", "default", "+publish");
  assert.equal(await (await second).release(), true);
}, { isAlone: true });
