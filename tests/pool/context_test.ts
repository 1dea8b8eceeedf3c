/** Pool: the asynchronous context in which functions and sources run. */
import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { Pool, RateLimiter } from "../../mod.ts";
import { test } from "../_test.ts";

test("Pool: callbacks run in the asynchronous context of the caller", async () => {
  const user = new AsyncLocalStorage<string>();
  const pool = new Pool(1);
  const seen: unknown[] = [];
  const look = async (name: string) => {
    seen.push([name, user.getStore()]);
    await Promise.resolve();
    seen.push([name, user.getStore()]);
  };
  const all = ["a", "b", "c"].map((name) => user.run(name, () => pool.run(() => look(name))));
  const task = user.run("d", () => pool.createTask(() => look("d")));
  const mapped = user.run("e", () => pool.map([1, 2], () => look("e")));
  await user.run("reader", async () => {
    for await (const _ of mapped);
  });
  await Promise.all([...all, task]);
  await pool.join();
  assert.equal(seen.length, 12);
  for (const [name, store] of seen as [string, string][]) assert.equal(store, name);
});

test("Pool.map: source and function run in the context of map's caller, also when another call makes room", async () => {
  const user = new AsyncLocalStorage<string>();
  for (const rate of [undefined, new RateLimiter(1000, 1)]) {
    for (const limit of [1, 3]) {
      const pool = new Pool(limit, { rate });
      const seen: unknown[] = [];
      const items = function* () {
        for (let n = 0; n < 20; n++) {
          seen.push(user.getStore());
          yield n % 5 === 0 ? Promise.resolve(n) : n;
        }
      };
      const look = async (n: number) => {
        seen.push(user.getStore());
        if (n % 3 === 0) await Promise.resolve();
        if (n % 7 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
        seen.push(user.getStore());
      };
      const make = () => pool.map(items(), look, { buffer: 5 });
      const [read, collected] = user.run("caller", () => [make(), make()]);
      await Promise.all([
        user.run("reader", async () => {
          for await (const _ of read);
        }),
        user.run("collector", () => collected.toArray()),
        user.run("other", async () => {
          for (let i = 0; i < 20; i++) await pool.run(() => {});
        }),
      ]);
      assert.equal(seen.length, 2 * 3 * 20);
      assert.deepEqual(new Set(seen), new Set(["caller"]));
    }
  }
});
