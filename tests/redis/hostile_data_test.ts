/** Bytes that something else wrote under our keys: a RedisError or right behaviour, never a hold beside another one. */
import assert from "node:assert/strict";
import { RedisError, RedisLock, RedisRwLock, RedisSemaphore } from "../../lib/redis/mod.ts";
import { redisTest, until } from "./_clients.ts";
import { deeply } from "../_tools.ts";
import { hostileBodies, hostileRounds } from "./_hostile.ts";

for (const body of hostileBodies) {
  redisTest(
    `random bytes in every key grant nothing, and no call hangs: ${body.name}`,
    (setup) => hostileRounds(setup, body, deeply(10, 40), 1),
  );
}

redisTest("a malformed waiter goes, and those behind it are served", async ({ server, backend }) => {
  const lock = new RedisLock(backend, "a");
  const held = await lock.acquire();
  const waiting = lock.acquire();
  await until(async () => (await lock.inspect()).waiting === 1);
  for (const member of ["x".repeat(21), `${"y".repeat(21)} 1`, "n", `${"z".repeat(21)} -1 1 `]) {
    await server.send("ZADD", "interlock:lock:3:{a}:queue", 1, member);
    await server.send("ZADD", "interlock:lock:3:{a}:lives", "9".repeat(16), member);
  }
  assert.equal(await held.release(), true);
  await (await waiting).release();
});

redisTest("members that are none, and are over, take nothing from those that hold", async ({ server, backend }) => {
  const lock = new RedisRwLock(backend, "a");
  const held = await lock.reader.acquire();
  for (const member of ["n", "f", "", "x".repeat(21)]) await server.send("ZADD", "interlock:rw:3:{a}:lives", 5, member);
  assert.equal(await lock.writer.tryAcquire(), undefined);
  assert.equal((await lock.inspect()).holders.length, 1);
  await held.release();
  await (await lock.writer.acquire()).release();
});

redisTest("inspect names the key whose data is something else", async ({ server, backend }) => {
  const lock = new RedisLock(backend, "a");
  const semaphore = new RedisSemaphore(backend, "a", 3);
  const held = [await lock.acquire(), await semaphore.acquire(), await semaphore.acquire()];
  const [state, lives] = ["interlock:semaphore:3:{a}", "interlock:semaphore:3:{a}:lives"];
  const { id } = held[1]!;
  const record = String(await server.send("HGET", state, id));
  const member = id + record.slice(24);
  const end = String(await server.send("ZSCORE", lives, member));
  const spoils = [
    ["SETRANGE", "interlock:lock:3:{a}", 3, "fence"],
    ["HSET", state, "f", "inf"],
    ["HSET", state, "f", "1".repeat(400)],
    ["HSET", state, "f", "1", id, `fence${record.slice(5)}`],
    ["ZADD", lives, "inf", member],
  ];
  for (const spoil of spoils) {
    await server.send(...spoil);
    const body = spoil[1] === "interlock:lock:3:{a}" ? lock : semaphore;
    await assert.rejects(body.inspect(), (error) => {
      return error instanceof RedisError &&
        /the data of .*key .*"interlock:(lock|semaphore):3:\{a\}/.test(error.message);
    }, spoil.join(" "));
    await server.send("HSET", state, id, record);
  }
  await server.send("ZADD", lives, end, member);
  assert.equal((await semaphore.inspect()).holders.length, 2);
  const waiting = semaphore.acquire({ permits: 3 });
  await until(async () => (await semaphore.inspect()).waiting === 1);
  await server.send("ZADD", `${state}:queue`, 1, "x".repeat(21));
  const { waiters } = await semaphore.inspect();
  assert.deepEqual(waiters.map(({ expiresIn }) => Number.isFinite(expiresIn)), [true]);
  for (const lease of held.slice(1)) assert.equal(await lease.release(), true);
  await (await waiting).release();
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
      const commands = spoil(`interlock:lock:3:{${name}}`, `interlock:semaphore:3:{${name}}:lives`);
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
