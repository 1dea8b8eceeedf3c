/** Permits across machines. */
import assert from "node:assert/strict";
import { type Lease, LeaseLostError, RedisRwLock, RedisSemaphore } from "../../lib/redis/mod.ts";
import { altered } from "./_altered.ts";
import { redisTest, until } from "./_clients.ts";
import { Warnings } from "./_warnings.ts";
import { commandOf } from "./_command_of.ts";

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

redisTest("permits never exceed the limit, for any mix of requests", async ({ backend, connect }) => {
  const semaphores = [new RedisSemaphore(backend, "a", 5), new RedisSemaphore(await connect(), "a", 5)];
  let inUse = 0, most = 0;
  await Promise.all(Array.from({ length: 40 }, (_, i) => {
    const permits = i % 5 + 1;
    return semaphores[i % 2]!.run(async () => {
      most = Math.max(most, inUse += permits);
      await new Promise((resolve) => setTimeout(resolve, 1));
      inUse -= permits;
    }, { permits });
  }));
  assert.ok(most <= 5, `${most} of 5`);
});

redisTest(
  "callers that disagree about the permits are each judged by their own number",
  async ({ backend, connect }) => {
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
  },
);

redisTest("a holder whose lease is gone from Redis gives no permit back", async ({ server, backend, connect }) => {
  const [here, there] = [new RedisSemaphore(backend, "a", 1), new RedisSemaphore(await connect(), "a", 1)];
  const lost = await here.acquire();
  const [leases] = await server.send("KEYS", "*:lives") as string[];
  await server.send("DEL", leases!); // as when it expires sooner than the other keys
  const lease = await there.acquire({ timeout: 5000 });
  assert.equal(await lost.release(), false);
  assert.equal(await here.tryAcquire(), undefined);
  assert.equal(await lease.release(), true);
});

redisTest(
  "a hold of which one key is gone is lost, as another caller may hold now",
  async ({ server, backend, connect }) => {
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
  },
);

redisTest("a release that is sent again counts the permits of holders whose time is over", async (setup) => {
  const { backend, connect } = setup;
  let releases = 0, sendAgain = () => {};
  const onceOver = new Promise<void>((resolve) => sendAgain = resolve);
  const lossy = altered(backend, async (run, keys, args) => {
    if (commandOf(keys, args) !== "release") return run();
    if (++releases > 1) await onceOver;
    const answer = await run();
    if (releases === 1) throw new Error("Socket closed unexpectedly");
    return answer;
  });
  const semaphore = new RedisSemaphore(await connect(), "a", 3);
  const staying = await semaphore.acquire();
  const lease = await new RedisSemaphore(lossy, "a", 3).acquire();
  const released = lease.release();
  await until(() => releases > 1);
  await new RedisSemaphore(await connect(), "a", 3, { ttl: 1500, renew: false }).acquire({ permits: 2 });
  const grantedAt = performance.now();
  await until(() => performance.now() > grantedAt + 1501);
  sendAgain();
  assert.equal(await released, true);
  const free = await semaphore.tryAcquire(2);
  assert.ok(free, "two are free");
  await free.release();
  await staying.release();
});
