/** Pool, in server run-times only: asynchronous context and unhandled rejections. */
import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import process from "node:process";
import { Pool } from "../../mod.ts";
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

test("Pool: an unobserved failure is no unhandled rejection", async () => {
  const unhandled: unknown[] = [];
  const listener = (reason: unknown) => void unhandled.push(reason);
  process.on("unhandledRejection", listener);
  try {
    const pool = new Pool(1);
    await pool.createTask(() => Promise.reject(new Error("work failed")));
    await new Promise((resolve) => setTimeout(resolve, 0));
    await new Promise((resolve) => setTimeout(resolve, 0));
    assert.deepEqual(unhandled, []);
    await assert.rejects(pool.join(), /work failed/);
  } finally {
    process.off("unhandledRejection", listener);
  }
});
