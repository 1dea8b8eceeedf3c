/** The option `replicas`: a grant counts only once replicas have it. */
import assert from "node:assert/strict";
import { watchdog } from "../../lib/diagnostics/mod.ts";
import { type Backend, RedisError, RedisLock, RedisSemaphore, TimeoutError } from "../../lib/redis/mod.ts";
import { test } from "../_test.ts";
import { watch } from "../_tools.ts";
import { clients, redisTest, type Setup, until } from "../redis/_clients.ts";
import { Server } from "../redis/_server.ts";

const ONE = { count: 1, timeout: 200 };

/** A replica joins at once. */
const args = ["--repl-diskless-sync-delay", "0"];

/** Starts a replica and waits until it is in step. */
async function replicaOf({ server }: Setup): Promise<Server> {
  const replica = await Server.start("--replicaof", "127.0.0.1", String(server.port));
  await until(async () => /slave0:.*state=online/.test(String(await server.send("INFO", "replication"))));
  return replica;
}

for (const client of clients.filter(({ name }) => !name.startsWith("@db"))) {
  redisTest(`${client.name}: a grant waits for a replica, pushed or not`, async (bench) => {
    await using _ = await replicaOf(bench);
    const lock = new RedisLock(bench.backend, "a", { replicas: ONE });
    const other = new RedisLock(await bench.connect(), "a");
    const before = await bench.server.calls("wait");
    const first = await lock.acquire({ timeout: 5000 });
    const after = await bench.server.calls("wait");
    assert.ok(after > before);
    const pushed = other.acquire();
    await until(async () => (await lock.inspect()).waiters.length === 1);
    const second = lock.acquire();
    await until(async () => (await lock.inspect()).waiters.length === 2);
    await first.release();
    await (await pushed).release(); // grants by the other client's connection
    const lease = await second;
    assert.ok(await bench.server.calls("wait") > after);
    assert.equal(lease.held, true);
    assert.equal(await lease.release(), true);
    const tried = await lock.tryAcquire();
    assert.equal(await tried!.release(), true);
  }, { client, args });
}

redisTest(
  "without the replica a grant is released, tried again, and at last times out",
  async ({ server, backend }) => {
    const lock = new RedisLock(backend, "a", { replicas: ONE });
    await assert.rejects(lock.acquire({ timeout: 700 }), (error: Error) => {
      assert.ok(error instanceof TimeoutError);
      assert.equal(error.message, 'Cannot acquire lock "a": timed out after 700 ms');
      assert.match(String(error.cause), /0 of 1 replicas had the grant after 200 ms/);
      return true;
    });
    assert.ok(await server.calls("wait") >= 2);
    await until(async () => (await lock.inspect()).holders.length === 0); // released in the background
    await assert.rejects(
      lock.tryAcquire(),
      (error: Error) => error instanceof RedisError && /0 of 1/.test(error.message),
    );
    await assert.rejects(lock.acquire({ timeout: 0 }), TimeoutError);
    const short = new RedisLock(backend, "b", { replicas: ONE, ttl: 300 });
    await assert.rejects(
      short.acquire(),
      (error: Error) => error instanceof RedisError && /0 of 1/.test(error.message),
    );
    await until(async () => (await lock.inspect()).holders.length === 0);
  },
);

redisTest("a time-out with replicas has the words of every other one", async ({ backend }) => {
  using _ = watchdog({ report: () => {} });
  const holder = await new RedisLock(backend, "a").acquire();
  const lock = new RedisLock(backend, "a", { replicas: ONE });
  const text =
    /^Cannot acquire lock "a": timed out after 300 ms; held for \d+ ms, acquired at redis_replicas_test\.ts:\d+$/;
  await assert.rejects(lock.acquire({ timeout: 300 }), (error: Error) => {
    assert.ok(error instanceof TimeoutError);
    assert.match(error.message, text);
    return true;
  });
  await holder.release();
});

redisTest("a replica that comes back within the call's time is enough", async (bench) => {
  const { backend } = bench;
  const semaphore = new RedisSemaphore(backend, "a", 2, { replicas: ONE });
  const call = semaphore.acquire({ permits: 2, timeout: 60_000 });
  await until(async () => await bench.server.calls("wait") > 0);
  await using _ = await replicaOf(bench);
  const lease = await call;
  assert.equal(lease.held, true);
  assert.equal(await lease.release(), true);
}, { args });

redisTest("three wait for a replica, the one in the middle is aborted", async (bench) => {
  const { backend, server } = bench;
  const controller = new AbortController();
  const locks = ["a", "b", "c"].map((name) => new RedisLock(backend, name, { replicas: { count: 1, timeout: 300 } }));
  const [first, middle, last] = locks.map((lock, i) =>
    watch(lock.acquire(i === 1 ? { signal: controller.signal } : { timeout: 60_000 }))
  );
  await until(async () => await server.calls("wait") > 0);
  controller.abort();
  await until(() => middle!.state === "rejected");
  assert.equal(middle!.reason, controller.signal.reason);
  await until(async () => (await locks[1]!.inspect()).holders.length === 0);
  await using _ = await replicaOf(bench);
  for (const one of [first, last]) assert.equal(await (await one!.promise).release(), true);
}, { args });

test("replicas: throws if WAIT cannot follow the grant, or if the option is wrong", () => {
  const call = () => Promise.reject(new Error("called"));
  const noPush: Backend = { evalsha: call, eval: call };
  assert.throws(
    () => new RedisLock(noPush, "a", { replicas: { count: 1 } }),
    (error) => error instanceof TypeError && /^replicas must be left out with /.test(error.message),
  );
  const able: Backend = { ...noPush, wait: () => Promise.resolve(0) };
  for (
    const [replicas, type] of [
      [5, TypeError],
      [null, TypeError],
      [{}, TypeError],
      [{ count: 0 }, RangeError],
      [{ count: 1, timeout: 0 }, RangeError],
      [{ count: 1, timeout: "5" }, TypeError],
    ] as const
  ) {
    assert.throws(() => new RedisLock(able, "a", { replicas: replicas as never }), type);
  }
  for (const [owner, type] of [[5, TypeError], ["", RangeError], ["x".repeat(101), RangeError]] as const) {
    assert.throws(() => new RedisLock(able, "a", { owner: owner as never }), type);
  }
});
