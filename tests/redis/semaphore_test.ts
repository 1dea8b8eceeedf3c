/** Permits across machines. */
import assert from "node:assert/strict";
import { type Lease, LeaseLostError, RedisRwLock, RedisSemaphore } from "../../lib/redis/mod.ts";
import { redisTest, until } from "./_clients.ts";
import { Warnings } from "./_warnings.ts";

redisTest("a large request is not starved, and calls behind a cancelled one go on", async ({ backend }) => {
  const semaphore = new RedisSemaphore(backend, "a", 3);
  const lease = await semaphore.acquire({ permits: 2 });
  const controller = new AbortController();
  const large = semaphore.acquire({ permits: 3, signal: controller.signal });
  await until(async () => (await semaphore.inspect()).waiters.length === 1);
  assert.equal(await semaphore.tryAcquire(), undefined); // one is free, but a waiter is first
  const small = semaphore.acquire();
  await until(async () => (await semaphore.inspect()).waiters.length === 2);
  controller.abort();
  await assert.rejects(large);
  await (await small).release();
  await lease.release();
  for (const bad of [0, 4, 1.5, NaN]) await assert.rejects(semaphore.acquire({ permits: bad }), RangeError);
  await assert.rejects(semaphore.tryAcquire(4), RangeError);
  await assert.rejects(semaphore.acquire({ permits: "1" as never }), TypeError);
});

redisTest("callers that disagree about the permits have their own limits", async ({ backend, connect }) => {
  using warnings = new Warnings();
  const name = "disagreed"; // no other test of the process may have been warned of it
  const [two, three] = [new RedisSemaphore(backend, name, 2), new RedisSemaphore(await connect(), name, 3)];
  const held = [await two.acquire(), await two.acquire()];
  assert.equal(await two.tryAcquire(), undefined);
  held.push((await three.tryAcquire())!);
  assert.equal(await three.tryAcquire(), undefined);
  const order: string[] = [];
  const waiting = [two.acquire().then((lease) => (order.push("two"), lease))];
  await until(async () => (await two.inspect()).waiting === 1);
  waiting.push(three.acquire().then((lease) => (order.push("three"), lease)));
  await until(async () => (await two.inspect()).waiting === 2);
  await held[0]!.release(); // two are left: enough for a limit of 3, but the one ahead has a limit of 2
  await until(async () => (await two.inspect()).holders.length === 2);
  assert.deepEqual(order, []);
  await held[1]!.release();
  const granted = await Promise.all(waiting);
  assert.ok(granted[0]!.fencingToken < granted[1]!.fencingToken, "by arrival");
  for (const lease of granted) await lease.release();
  assert.equal(await held[2]!.release(), true);
  const texts = warnings.seen.filter((text) => text.includes("permits"));
  assert.equal(texts.length, 1, String(texts));
  assert.match(
    texts[0]!,
    /INTERLOCK_REDIS_NUMBERS: Callers of semaphore "disagreed" disagree: \d permits here, \d permits elsewhere/,
  );
});

redisTest("a hold of which one key is gone is lost", async ({ server, backend, connect }) => {
  const other = await connect();
  const make = (name: string, ttl: number) => [
    [new RedisSemaphore(backend, name, 1, { ttl }), new RedisSemaphore(other, name, 1), "semaphore"] as const,
    [new RedisRwLock(backend, name, { ttl }).writer, new RedisRwLock(other, name).reader, "rw"] as const,
  ];
  const notices: Record<string, (lease: Lease) => Promise<unknown>> = {
    verify: async (lease) => assert.equal(await lease.verify(), false),
    extend: (lease) => assert.rejects(lease.extend(), LeaseLostError),
    renewal: (lease) => until(() => lease.signal.aborted),
  };
  const rounds = Object.entries(notices).flatMap(([how, notice]) =>
    ["", ":lives"].flatMap((end) => {
      const name = `${how}${end}`;
      return make(name, how === "renewal" ? 3000 : 20_000).map(async ([body, others, kind]) => {
        const lease = await body.acquire();
        await server.send("DEL", `interlock:${kind}:3:{${name}}${end}`);
        const next = await others.acquire();
        await notice(lease);
        assert.deepEqual([lease.held, next.held], [false, true], `${kind} ${name}`);
        assert.deepEqual([await lease.release(), await next.release()], [false, true]);
      });
    })
  );
  await Promise.all(rounds);
});
