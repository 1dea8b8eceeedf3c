/** Failures of a pool that no call observes: how many are kept, and when they are reported. */
import assert from "node:assert/strict";
import process from "node:process";
import { Pool, type Task } from "../../mod.ts";
import { test } from "../_test.ts";
import { deferred, flushMicrotasks, rejectsWith } from "../_tools.ts";
import { unobservedWarnings as warningsOf } from "../_warnings.ts";

// Alone: unobserved failures of other files would count.

function failWith(pool: Pool, message: string): Promise<Task<never>> {
  return pool.createTask((): never => {
    throw new Error(message);
  });
}

test("Pool: join throws the first 1,000 unobserved failures, and says how many more there were", async () => {
  const pool = new Pool(1, { name: "pages" });
  const tasks = [];
  for (let i = 0; i < 1234; i++) tasks.push(await failWith(pool, `failure ${i}`));
  await assert.rejects(tasks[5]!.result); // observed: it counts in neither number
  await assert.rejects(tasks[1233]!.result);
  const error = await pool.join().catch((error) => error);
  assert.ok(error instanceof AggregateError);
  assert.equal(error.message, 'Cannot join pool "pages": 999 failures and 233 more');
  assert.deepEqual(error.errors.slice(4, 6).map(({ message }: Error) => message), ["failure 4", "failure 6"]);
  await pool.join();
});

test("Pool: an abort of a join that ends the last call in a listener before it leaves the failures to the next join", async () => {
  const pool = new Pool(1);
  await failWith(pool, "kept");
  await flushMicrotasks();
  pool.limit = 0;
  const queued = pool.run(() => {});
  const controller = new AbortController();
  controller.signal.addEventListener("abort", () => pool.cancel("over")); // comes before the listener of join
  const joins = [pool.join({ signal: controller.signal }), pool.join({ signal: controller.signal })];
  controller.abort("enough");
  for (const join of joins) await rejectsWith(join, "enough");
  await rejectsWith(queued, "over");
  await assert.rejects(pool.join(), /kept/);
  await pool.join();
});

test("Pool: the failures beyond the first 1,000 are thrown by one join, also when all others are observed", async () => {
  const pool = new Pool(1);
  const tasks = [];
  for (let i = 0; i < 1001; i++) tasks.push(await failWith(pool, "no"));
  for (const task of tasks.slice(1, 1000)) await assert.rejects(task.result);
  await assert.rejects(pool.join(), /Cannot join pool: 1 failures? and 1 more/);
  await pool.join();
  await assert.rejects(tasks[1000]!.result);
  const error = new Error("later");
  await pool.createTask(() => Promise.reject(error));
  await rejectsWith(pool.join(), error);
});

test("Pool: a failure that has waited 10 s is reported once for each pool, with pool and error", async () => {
  const warnings = await warningsOf(async (time) => {
    const pools = [new Pool(1, { name: "pages" }), new Pool(1)];
    for (const pool of pools) await failWith(pool, "not found");
    await time.pass(9990, 111);
    for (const pool of pools) await failWith(pool, "second");
    await time.pass(20_000, 1000);
    for (const pool of pools) await assert.rejects(pool.join());
  });
  assert.equal(warnings.length, 2);
  assert.match(warnings[0]!, /pool "pages" .*Error: not found/);
  assert.match(warnings[1]!, /pool not .*Error: not found/);
});

test("Pool: nothing is reported of a failure that is observed within 10 s, nor while join waits", async () => {
  const warnings = await warningsOf(async (time) => {
    const pool = new Pool(2);
    const first = await failWith(pool, "first");
    await time.pass(9000, 1000);
    await failWith(pool, "second");
    await assert.rejects(first.result);
    const { promise, resolve } = deferred();
    await pool.createTask(() => promise);
    const joined = assert.rejects(pool.join(), /second/);
    await time.pass(60_000, 1000);
    resolve();
    await joined;
    const map = pool.map([1], () => 1); // it may still be read
    await time.pass(60_000, 1000);
    await map.toArray();
  });
  assert.deepEqual(warnings, []);
});

test("Pool: a failure that is left by a cancelled join is reported", async () => {
  const warnings = await warningsOf(async (time) => {
    const pool = new Pool(2);
    await failWith(pool, "first");
    const { promise, resolve } = deferred();
    await pool.createTask(() => promise);
    const joined = assert.rejects(pool.join({ timeout: 12_000 }), { name: "TimeoutError" });
    await time.pass(30_000, 1000);
    await joined;
    resolve();
    await flushMicrotasks();
    await assert.rejects(pool.join(), /first/);
  });
  assert.equal(warnings.length, 1);
});

test("Pool.map: a failure whose reader waits for it is not reported, however long the other functions take", async () => {
  for (const how of ["next", "toArray"] as const) {
    const warnings = await warningsOf(async (time) => {
      const pool = new Pool(2);
      const gate = deferred();
      const error = new Error("not found");
      const read = rejectsWith(pool.map([1, 2], (n) => n === 1 ? Promise.reject(error) : gate.promise)[how](), error);
      await time.pass(60_000, 1000);
      gate.resolve();
      await read;
      await pool.join();
    });
    assert.deepEqual(warnings, [], how);
  }
});

test("Pool: odd errors are reported as well", async () => {
  const warnings = await warningsOf(async (time) => {
    for (const error of [undefined, "text\u001b[2J", Object.create(null), { toString: () => assert.fail() }]) {
      const pool = new Pool(1);
      await pool.createTask(() => Promise.reject(error));
      await time.pass(10_000, 1000);
      await pool.join().catch(() => {});
    }
  });
  assert.equal(warnings.length, 4);
  assert.ok(warnings.every((warning) => !warning.includes("\u001b")));
});

test("Pool: the process carries one listener while there are unobserved failures, and none afterwards", async () => {
  const before = process.listenerCount("beforeExit");
  const pools = [new Pool(1), new Pool(1)];
  for (const pool of pools) await failWith(pool, "no");
  assert.equal(process.listenerCount("beforeExit"), before + 1);
  await assert.rejects(pools[0]!.join());
  assert.equal(process.listenerCount("beforeExit"), before + 1);
  await assert.rejects(pools[1]!.join());
  assert.equal(process.listenerCount("beforeExit"), before);
});
