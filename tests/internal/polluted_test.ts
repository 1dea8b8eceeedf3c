/** Members that somebody has put on `Object.prototype`. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { observe } from "../../lib/diagnostics/mod.ts";
import { memoryBackend, RedisKeyedMutex, RedisLock, RedisRateLimiter, RedisSemaphore } from "../../lib/redis/mod.ts";
import { WebLock } from "../../lib/web/mod.ts";
import { Event, GracefulShutdown, KeyedMutex, Lock, lockOnArguments, Pool, RateLimiter, Semaphore } from "../../mod.ts";
import { test } from "../_test.ts";

/** Calls `fn` while these are on `Object.prototype`. */
async function polluted(members: Record<string, unknown>, fn: () => Promise<void>): Promise<void> {
  for (const [key, value] of Object.entries(members)) {
    Object.defineProperty(Object.prototype, key, { value, configurable: true, writable: true });
  }
  try {
    await fn();
  } finally {
    for (const key of Object.keys(members)) delete (Object.prototype as Record<string, unknown>)[key];
  }
}

test("options are read from the object and its class, never from Object.prototype", () =>
  polluted({ aborted: true, timeout: -1, permits: 7, maxWaiting: "x", name: 5, rate: 5, buffer: 0 }, async () => {
    const lock = new Lock({});
    (await lock.acquire({})).release();
    assert.equal(lock.name, undefined);
    const semaphore = new Semaphore(3, {});
    using _ = await semaphore.acquire({ timeout: 5 });
    assert.equal(semaphore.value, 2);
    await new RateLimiter(1, 10, {}).acquire({});
    const pool = new Pool(1, {});
    assert.deepEqual(await pool.map([1], (n) => n, {}).toArray(), [1]);
    assert.equal(await pool.run(() => 1, {}), 1);
    await pool.join({});
    const event = new Event({});
    event.set();
    await event.wait({});
    // Its own, and those of its class.
    await assert.rejects(event.wait({ timeout: -2 }), RangeError);
    class Options {
      get timeout(): number {
        return -3;
      }
    }
    await assert.rejects(event.wait(new Options()), /got -3/);
    await assert.rejects(event.wait(AbortSignal.abort() as never), /not be a signal itself/);
  }));

test("the same over Redis, in tabs, for a shutdown and for wrapped functions", () =>
  polluted(
    {
      ttl: 0,
      owner: 5,
      prefix: "{",
      permits: 7,
      locks: 5,
      mode: "x",
      grace: -1,
      late: 5,
      name: 7,
      label: 9,
      wait: 5,
    },
    async () => {
      const backend = memoryBackend();
      await using lease = await new RedisLock(backend, "a", {}).acquire({});
      assert.equal(lease.ttl, 30_000);
      await using _ = await new RedisKeyedMutex(backend, {}).acquire("a", {});
      const semaphore = new RedisSemaphore(backend, "a", 3, {});
      await semaphore.run(async () => assert.equal((await semaphore.inspect()).holders[0]!.permits, 1), {});
      await new RedisRateLimiter(backend, "a", 3, 1000, {}).acquire({});
      const locks = { request: () => Promise.resolve(), query: () => Promise.resolve({}) };
      assert.equal(new WebLock("a", { locks } as never).mode, "exclusive");
      const shutdown = new GracefulShutdown({ signals: [] });
      shutdown.handler(() => new Response(), {});
      shutdown.attach(createServer(), {});
      using _observing = observe({});
      shutdown.request();
      assert.equal((await shutdown.finished).ok, true);
      assert.equal(await lockOnArguments(new KeyedMutex(), [0], {})((n: number) => n)(3), 3);
    },
  ));
