/** Calls with an unknown outcome: replies lost, commands run twice or late, scripts forgotten, messages lost. */
import assert from "node:assert/strict";
import { RedisLock, RedisRateLimiter, RedisSemaphore, TimeoutError } from "../../lib/redis/mod.ts";
import { test } from "../_test.ts";
import { flushMicrotasks, withRunningTime } from "../_tools.ts";
import { altered } from "./_altered.ts";
import { redisTest, until } from "./_clients.ts";
import { computeDigests } from "./_scripted.ts";
import { commandOf } from "./_command_of.ts";

await computeDigests();

redisTest("a reply lost after the command ran: the same hold is found again by id", async ({ backend }) => {
  let lose = 0;
  const lock = new RedisLock(
    altered(backend, async (run) => {
      const reply = await run();
      if (lose > 0 && lose-- > 0) throw new Error("Socket closed unexpectedly");
      return reply;
    }),
    "a",
  );
  for (let i = 0; i < 3; i++) {
    await flushMicrotasks();
    lose = i;
    const lease = await lock.acquire({ timeout: 10_000 });
    assert.deepEqual((await lock.inspect()).holders.map(({ id }) => id), [lease.id]);
    lose = i;
    assert.equal(await lease.release(), true); // still held, although the first reply was lost
    assert.deepEqual((await lock.inspect()).holders, []);
  }
});

redisTest("an acquire that runs again late shortens no lease that was extended", async (bench) => {
  let late: (() => Promise<unknown>) | undefined;
  let lost = 0;
  const backend = altered(bench.backend, (run, keys) => {
    if (keys.length < 3 || lost-- <= 0) return run();
    late = run;
    return Promise.reject(new Error("Socket closed unexpectedly"));
  });
  for (const held of [new RedisLock(backend, "a"), new RedisSemaphore(backend, "a", 2)]) {
    lost = 1;
    const lease = await held.acquire();
    await lease.extend(90_000);
    const [code, fence] = await late!() as number[];
    assert.deepEqual([code, fence], [1, lease.fencingToken]); // the same hold, requested again
    const { holders, ttl } = await held.inspect();
    assert.ok(holders[0]!.expiresIn > 60_000, `it ends in ${holders[0]!.expiresIn} ms`);
    assert.ok(ttl > holders[0]!.expiresIn, `its data ends in ${ttl} ms`);
    await lease.release();
  }
});

redisTest("an acquire that comes after its release takes nothing", async ({ backend }) => {
  let late: (() => Promise<unknown>) | undefined;
  const losing = altered(backend, (run, keys, args) => {
    if (late !== undefined || commandOf(keys, args) !== "acquire") return run();
    late = run;
    return Promise.reject(new Error("Socket closed unexpectedly"));
  });
  for (const held of [new RedisLock(losing, "a"), new RedisSemaphore(losing, "a", 2)]) {
    late = undefined;
    const lease = await held.acquire();
    assert.equal(await lease.release(), true);
    assert.deepEqual(await late!(), [-2]);
    assert.deepEqual((await held.inspect()).holders, []);
  }
});

redisTest("every command runs twice: nothing changes", async ({ backend }) => {
  const lock = new RedisLock(
    altered(backend, async (run) => {
      await run();
      return await run();
    }),
    "a",
  );
  const order: number[] = [];
  const first = await lock.acquire();
  const waiters: Promise<unknown>[] = [];
  for (let i = 0; i < 3; i++) {
    waiters.push(lock.run(() => void order.push(i)));
    await until(async () => (await lock.inspect()).waiters.length === i + 1);
  }
  await first.extend(5000);
  await first.release();
  await Promise.all(waiters);
  assert.deepEqual(order, [0, 1, 2]);
  const { holders, waiters: left } = await lock.inspect();
  assert.deepEqual([holders, left], [[], []]);
});

redisTest("a late command is rejected, or its grant is released", async ({ server, backend }) => {
  let hold: Promise<void> | undefined;
  let late = Promise.resolve<unknown>(undefined);
  const lock = new RedisLock(
    altered(backend, (run) => {
      if (hold === undefined) return run();
      const result = hold.then(run);
      late = result.catch(() => {});
      return result;
    }),
    "a",
    { ttl: 3_600_000 }, // it does not end by itself
  );
  await (await lock.acquire()).release();
  for (const scripts of ["known", "forgotten"]) {
    let letGo = () => {};
    hold = new Promise((resolve) => letGo = resolve);
    const call = lock.acquire({ timeout: 50 });
    await assert.rejects(call, { name: "TimeoutError" });
    if (scripts === "forgotten") await server.send("SCRIPT", "FLUSH");
    hold = undefined;
    letGo();
    await late;
    await until(async () => (await lock.inspect()).holders.length === 0);
    await (await lock.acquire({ timeout: 5000 })).release();
  }
});

test("the error is that of the server, not that a last command came too late", async () => {
  const serverTime = () => Date.now() * 1000;
  let commands = 0;
  const lock = new RedisLock({
    evalsha: (_sha, keys) => {
      if (keys.length === 0) return Promise.resolve(serverTime());
      if (commands++ === 0) return Promise.reject(new Error("READONLY You can't write against a read only replica."));
      return Promise.resolve([-2, serverTime()]);
    },
    eval: () => Promise.reject(new Error("called")),
    // Ends the attempts, after the refusals that are tried again at once.
    get closed() {
      return commands > 4;
    },
  }, "a");
  await assert.rejects(lock.acquire({ signal: new AbortController().signal }), /READONLY/);
});

test("the error says what was wrong with the answers that came, such as that of an open transaction", () =>
  withRunningTime(async () => {
    const reply = async () => await "QUEUED";
    const limiter = new RedisRateLimiter({ evalsha: reply, eval: reply }, "a", 1, 1000);
    await assert.rejects(limiter.acquire({ timeout: 60 }), (error: Error) => {
      assert.match(String(error.cause), /the application has a transaction open on this client/);
      return error instanceof TimeoutError;
    });
  }));
