/** Two copies of the module in one process, as two versions in node_modules are: what works, and what says why not. */
import assert from "node:assert/strict";
import { acquireAll, Condition, KeyedMutex, Lock, Pool, RateLimiter, RwLock, Semaphore, TimeoutLock } from "../mod.ts";
import { test } from "./_test.ts";
import { RedisKeyedMutex, RedisLock, RedisRateLimiter, RedisRwLock, RedisSemaphore } from "../lib/redis/mod.ts";
import { secondCopy, secondRedisCopy } from "./arguments/_second_copy.ts";

const other = await secondCopy();

const TWO_COPIES =
  /^TypeError: .* must be of the same copy of this module.*: there are two copies, got an object \(\w+\)$/;

test("two copies: acquireAll refuses the local things of the other one, in both directions", async () => {
  const things: (() => readonly [unknown, unknown])[] = [
    () => [new Lock(), new other.Lock()],
    () => [new TimeoutLock(5), new other.TimeoutLock(5)],
    () => [new Semaphore(1), new other.Semaphore(1)],
    () => [new RwLock().reader, new other.RwLock().writer],
    () => [new KeyedMutex().at(1), new other.KeyedMutex().at(1)],
  ];
  for (const make of things) {
    const [own, foreign] = make();
    await assert.rejects(acquireAll([own, foreign] as never), TWO_COPIES);
    await assert.rejects(acquireAll([foreign] as never), TWO_COPIES);
    await assert.rejects(other.acquireAll([own] as never), TWO_COPIES);
    await (await acquireAll([own] as never)).release();
    await (await other.acquireAll([foreign] as never)).release();
  }
});

test("two copies: a Condition and a Pool refuse the lock and the limiter of the other one", () => {
  for (const lock of [new other.Lock(), new other.TimeoutLock(5)]) {
    assert.throws(() => new Condition(lock as never), TWO_COPIES);
  }
  const rate = new other.RateLimiter(1, 1);
  assert.throws(() => new Pool(1, { rate: rate as never }), TWO_COPIES);
  assert.throws(() => new Pool(1, rate as never), /^TypeError: options must not be a RateLimiter: pass/);
  assert.throws(() => new other.Pool(1, { rate: new RateLimiter(1, 1) as never }), TWO_COPIES);
});

test("two copies: guards, signals and errors pass between them", async () => {
  const lock = new other.Lock();
  await new Lock().run(async (guard) => {
    assert.equal(guard.held, true);
    await lock.run(() => {});
  });
  const pool = new Pool(1), late = new other.Lock();
  await late.acquire();
  const task = await pool.createTask((signal) => late.acquire({ signal }));
  task.cancel();
  await pool.join();
  assert.equal(task.status, "cancelled");
});

test("two copies: the classes over Redis refuse the backend in memory of the other one", async () => {
  const foreign = (await secondRedisCopy()).memoryBackend();
  const makers = [
    () => new RedisLock(foreign, "a"),
    () => new RedisSemaphore(foreign, "a", 1),
    () => new RedisKeyedMutex(foreign),
    () => new RedisRwLock(foreign, "a"),
    () => new RedisRateLimiter(foreign, "a", 1, 1),
  ];
  for (const make of makers) assert.throws(make, TWO_COPIES);
});
