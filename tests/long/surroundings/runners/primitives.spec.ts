/** Runs in Jest, also with jsdom, and in Vitest's vmThreads: realms that have errors, arrays and signals of their own. */
import { setTimeout as sleep } from "node:timers/promises";
import { Lock, Pool, TimeoutError } from "@interlock/interlock";
import { dashboard } from "@interlock/interlock/dashboard";
import { observe } from "@interlock/interlock/diagnostics";
import { RedisLock } from "@interlock/interlock/redis";
import { WebLock } from "@interlock/interlock/web";

// deno-lint-ignore no-explicit-any -- the globals of both runners
declare const test: any, expect: any;

test("a lock, a time-out, and disposal", async () => {
  using _ = observe({});
  const lock = new Lock({ name: "orders" });
  {
    using guard = await lock.acquire();
    await lock.acquire({ timeout: 5 }).catch((error: unknown) => expect(error).toBeInstanceOf(TimeoutError));
    expect(guard.held).toBe(true);
  }
  {
    await using _ = await lock.acquire();
  }
  expect(lock.locked).toBe(false);
});

test("a cancelled task is no failure", async () => {
  await using pool = new Pool(2);
  const task = await pool.createTask((signal) => sleep(60_000, undefined, { signal }));
  await sleep(5);
  task.cancel();
  await pool.join();
  expect(task.status).toBe("cancelled");
  expect(await pool.map([1, 2], async (n) => await Promise.resolve(n)).toArray()).toEqual([1, 2]);
});

test("all entries can be imported", () => {
  for (const exported of [dashboard, RedisLock, WebLock]) expect(typeof exported).toBe("function");
});
