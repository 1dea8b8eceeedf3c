/** acquireAll over Redis, and over both sides at once. */
import assert from "node:assert/strict";
import { acquireAll, Lock } from "../../mod.ts";
import { memoryBackend, RedisKeyedMutex, RedisLock, RedisRwLock, RedisSemaphore } from "../../lib/redis/mod.ts";
import { states, watch } from "../_tools.ts";
import { redisTest, until } from "./_clients.ts";
import { fakeTimeTest } from "./_scripted.ts";

redisTest("acquireAll: local and remote resources together, in the list's order", async ({ backend }) => {
  const keys = new RedisKeyedMutex(backend);
  const semaphore = new RedisSemaphore(backend, "s", 2);
  const rw = new RedisRwLock(backend, "rw");
  const local = new Lock();
  const list = [keys.at("b"), local, rw.reader, new RedisLock(backend, "lock"), semaphore, keys.at("a")] as const;
  const group = await acquireAll(list, { timeout: 5000 });
  assert.equal(group.held, true);
  assert.equal(group.guards[0].fencingToken > 0, true);
  assert.equal(local.locked, true);
  for (const key of ["a", "b"]) assert.equal((await keys.inspect(key)).holders.length, 1);
  await group.release();
  assert.equal(local.locked, false);
  for (const inspected of [keys.inspect("a"), keys.inspect("b"), semaphore.inspect(), rw.inspect()]) {
    assert.deepEqual((await inspected).holders, []);
  }
});

redisTest("acquireAll: acquires local resources first", async ({ backend }) => {
  const [local, remote] = [new Lock(), new RedisLock(backend, "lock")];
  const guard = await local.acquire();
  const call = watch(acquireAll([remote, local]));
  await until(() => local.waiting === 1);
  assert.deepEqual((await remote.inspect()).holders, []);
  assert.equal(await states([call]), "pending");
  guard.release();
  await (await call.promise).release();
});

redisTest("acquireAll: rejects a resource that is listed twice, also through two handles", async ({ backend }) => {
  const rw = new RedisRwLock(backend, "rw");
  const lists = [
    [new RedisLock(backend, "a"), new RedisLock(backend, "a")],
    [new RedisKeyedMutex(backend).at("a"), new RedisKeyedMutex(backend).at("a")],
    [new RedisSemaphore(backend, "a", 2), new RedisSemaphore(backend, "a", 2)],
    [rw.reader, rw.writer],
  ];
  for (const list of lists) await assert.rejects(acquireAll(list), TypeError);
  const [lock, prefixed] = [new RedisLock(backend, "a"), new RedisLock(backend, "a", { prefix: "other:" })];
  await (await acquireAll([lock, prefixed, new RedisSemaphore(backend, "a", 2)])).release();
});

fakeTimeTest("acquireAll: the group's signal aborts with the reason of its first lost lease", async (time) => {
  const keys = new RedisKeyedMutex(memoryBackend(), { ttl: 60_000 });
  const list = () => [new Lock(), keys.at("a"), keys.at("b"), keys.at("c")] as const;
  const group = await acquireAll(list());
  const { signal } = group;
  assert.equal(signal, group.signal);
  assert.equal(signal.aborted, false);
  await time.pass(300);
  const { guards } = group;
  await keys.forceRelease("b");
  assert.equal(await guards[2].verify(), false);
  assert.deepEqual([signal.aborted, group.held], [true, false]);
  assert.equal(signal.reason, guards[2].signal.reason);
  await keys.forceRelease("a");
  assert.equal(await guards[1].verify(), false);
  assert.notEqual(signal.reason, guards[1].signal.reason);
  await group.release();
  const late = await acquireAll(list());
  await time.pass(300);
  await keys.forceRelease("c");
  assert.equal(await late.guards[3].verify(), false);
  assert.equal(late.signal.reason, late.guards[3].signal.reason); // asked for after the loss
  await late.release();
  const kept = await acquireAll(list());
  const keptSignal = kept.signal;
  await kept.release();
  await time.pass(10);
  assert.equal(keptSignal.aborted, false);
  assert.equal((await acquireAll([new Lock()])).signal.aborted, false);
});
