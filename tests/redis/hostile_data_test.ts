/** Bytes that something else wrote under our keys: a RedisError or right behaviour, never a hold beside another one. */
import assert from "node:assert/strict";
import { RedisError, RedisLock, RedisRwLock, RedisSemaphore } from "../../lib/redis/mod.ts";
import { redisTest, until } from "./_clients.ts";
import { hostileBodies, hostileRounds } from "./_hostile.ts";

for (const body of hostileBodies) {
  redisTest(
    `random bytes in every key grant nothing, and no call hangs: ${body.name}`,
    (setup) => hostileRounds(setup, body, 40, 1),
  );
}

redisTest("a waiter whose record only ends like one goes, and is granted nothing", async ({ server, backend }) => {
  const lock = new RedisRwLock(backend, "a");
  const held = await lock.reader.acquire();
  const waiting = lock.writer.acquire({ timeout: 20_000 }).catch((error) => error);
  await until(async () => (await lock.inspect()).waiting === 1);
  const waiters = "interlock:rw:2:{a}:waiters";
  const [id] = await server.send("HKEYS", waiters) as [string];
  await server.send("HSET", waiters, id, "45a-.a+41n4f71Zan1 9201 x");
  assert.equal(await lock.writer.tryAcquire(), undefined);
  assert.equal((await lock.inspect()).holders.length, 1);
  await held.release();
  await (await waiting).release(); // its next question gives it its place again
});

redisTest("a malformed waiter goes, and those behind it are served", async ({ server, backend }) => {
  const lock = new RedisLock(backend, "a");
  const held = await lock.acquire();
  const waiting = lock.acquire();
  await until(async () => (await lock.inspect()).waiting === 1);
  await server.send("ZADD", "interlock:lock:2:{a}:queue", 1, "x".repeat(21));
  await server.send("HSET", "interlock:lock:2:{a}:waiters", "x".repeat(21), "zzzz");
  assert.equal(await held.release(), true);
  await (await waiting).release();
});

redisTest("inspect names the key whose data is something else", async ({ server, backend }) => {
  const lock = new RedisLock(backend, "a");
  const semaphore = new RedisSemaphore(backend, "a", 3);
  const held = [await lock.acquire(), await semaphore.acquire(), await semaphore.acquire()];
  const [state, leases] = ["interlock:semaphore:2:{a}", "interlock:semaphore:2:{a}:leases"];
  const hold = `h${held[1]!.id}`;
  const record = String(await server.send("HGET", state, hold));
  const end = String(await server.send("ZSCORE", leases, held[1]!.id));
  const spoils = [
    ["SETRANGE", "interlock:lock:2:{a}", 75, "since"],
    ["HSET", state, "l", "x"],
    ["HSET", state, "l", "3", "f", "inf"],
    ["HSET", state, "f", "1".repeat(400)],
    ["HSET", state, "f", "1", hold, `${record.slice(0, 32)}x ${record.slice(32)}`],
    ["HSET", state, hold, `since${record.slice(5)}`],
    ["HSET", state, hold, `${record.slice(0, 32)}${"1".repeat(400)} `],
    ["ZADD", leases, "inf", held[1]!.id],
  ];
  for (const spoil of spoils) {
    await server.send(...spoil);
    const body = spoil[1] === "interlock:lock:2:{a}" ? lock : semaphore;
    await assert.rejects(body.inspect(), (error) => {
      return error instanceof RedisError &&
        /the data of .*key .*"interlock:(lock|semaphore):2:\{a\}/.test(error.message);
    }, spoil.join(" "));
    await server.send("HSET", state, hold, record);
  }
  await server.send("ZADD", leases, end, held[1]!.id);
  assert.equal((await semaphore.inspect()).holders.length, 2);
  const waiting = semaphore.acquire({ permits: 3 });
  await until(async () => (await semaphore.inspect()).waiting === 1);
  await server.send("ZADD", `${state}:queue`, 1, "x".repeat(21));
  await server.send("HSET", `${state}:waiters`, "x".repeat(21), `${"9".repeat(16)}zzzz`); // counts as dead
  const { waiters } = await semaphore.inspect();
  assert.deepEqual(waiters.map(({ expiresIn }) => Number.isFinite(expiresIn)), [true]);
  for (const lease of held.slice(1)) assert.equal(await lease.release(), true);
  await (await waiting).release();
});

redisTest("data of something else is named with its key", async ({ server, backend }) => {
  for (
    const [value, words] of [[
      "garbage",
      /the key "interlock:lock:2:\{a\}"|begins with "interlock:lock:2:\{a\}"/,
    ]] as const
  ) {
    await server.send("SET", "interlock:lock:2:{a}", value);
    await assert.rejects(new RedisLock(backend, "a").acquire(), (error) => {
      return error instanceof RedisError && words.test(error.message);
    });
  }
  await server.send(
    "SET",
    "interlock:lock:2:{b}",
    `9999999999999999${"0".repeat(16)}-${" ".repeat(42)}${"0".repeat(16)}`,
  );
  await assert.rejects(new RedisLock(backend, "b").acquire(), RedisError);
});

redisTest("data of something else ends the renewal of no other lease", async ({ server, backend }) => {
  const options = { ttl: 3000 };
  const spoils = {
    list: (lock: string) => [["DEL", lock], ["RPUSH", lock, "x"]],
    digits: (lock: string) => [["SETRANGE", lock, 20, "xyz"]],
    leases: (_: string, leases: string) => [["DEL", leases], ["RPUSH", leases, "x"]],
  };
  await Promise.all(
    Object.entries(spoils).map(async ([name, spoil]) => {
      const [lock, semaphore] = [new RedisLock(backend, name, options), new RedisSemaphore(backend, name, 2, options)];
      const held = [await lock.acquire(), await semaphore.acquire()];
      const other = await new RedisLock(backend, `other ${name}`, options).acquire();
      const { expiresAt } = other;
      const commands = spoil(`interlock:lock:2:{${name}}`, `interlock:semaphore:2:{${name}}:leases`);
      for (const command of commands) await server.send(...command);
      const [spoilt, kept] = name === "leases" ? held.toReversed() : held;
      await until(() => !spoilt!.held);
      await until(() => other.expiresAt > expiresAt + options.ttl || !other.held);
      assert.deepEqual([other.held, kept!.held], [true, true], name);
      assert.equal(await other.release(), true);
      for (const lease of held) await lease.release().catch((error) => assert.ok(error instanceof RedisError));
    }),
  );
});
