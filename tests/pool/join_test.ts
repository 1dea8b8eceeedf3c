/** Pool.join: what it waits for, and the failures that it throws. */
import assert from "node:assert/strict";
import { ClosedError, Pool } from "../../mod.ts";
import { test } from "../_test.ts";
import { CountingController, flushMicrotasks, rejectsWith, states, watch, withFakeTime } from "../_tools.ts";
import { Job } from "./_jobs.ts";

test("Pool: an error whose name throws keeps no slot", async () => {
  const pool = new Pool(1);
  const odd = Object.defineProperty(new Error("odd"), "name", {
    get() {
      throw new Error("no name");
    },
  });
  const proxy = new Proxy({}, {
    getPrototypeOf() {
      throw new Error("no prototype");
    },
  });
  for (const error of [odd, proxy]) {
    const job = new Job();
    const task = await pool.createTask(job.fn);
    task.cancel("no");
    job.fail(error);
    await assert.rejects(pool.join(), (thrown) => Object.is(thrown, error));
    assert.deepEqual([task.status, pool.active], ["rejected", 0]);
    const map = pool.map([1], () => Promise.reject(error), { signal: new AbortController().signal });
    await map.toArray().then(() => assert.fail(), (thrown) => assert.ok(Object.is(thrown, error)));
    assert.equal(pool.active, 0);
  }
});

test("Pool: an unobserved failure is thrown by join, once; several in an AggregateError", async () => {
  const pool = new Pool(3);
  const error = new Error("work failed");
  const task = await pool.createTask(() => Promise.reject(error));
  await rejectsWith(pool.join(), error);
  await pool.join();
  await rejectsWith(task.result, error); // late, and still there
  const errors = [new Error("a"), new Error("b")];
  for (const one of errors) await pool.createTask(() => Promise.reject(one));
  await assert.rejects(pool.join(), (thrown: AggregateError) => {
    assert.ok(thrown instanceof AggregateError);
    assert.deepEqual(thrown.errors, errors);
    return true;
  });
});

test("Pool: an observed failure is not thrown by join, observed early or late", async () => {
  const pool = new Pool(2);
  const error = new Error("work failed");
  const early = new Job();
  const task = await pool.createTask(early.fn);
  const result = watch(task.result);
  assert.equal(task.result, task.result);
  early.fail(error);
  const late = await pool.createTask(() => Promise.reject(error));
  await flushMicrotasks();
  assert.deepEqual([result.reason, task.status, late.status], [error, "rejected", "rejected"]);
  await rejectsWith(late.result, error);
  await pool.join();
});

test("Pool: a cancelled join stops nothing and loses no failure", () =>
  withFakeTime(async (time) => {
    const pool = new Pool(1);
    const job = new Job();
    await pool.createTask(job.fn);
    const controller = new CountingController();
    const joins = [pool.join(), pool.join({ signal: controller.signal }), pool.join({ timeout: 10 })].map(watch);
    controller.abort("no");
    time.advance(10);
    assert.equal(await states(joins), "pending rejected rejected");
    const error = new Error("work failed");
    job.fail(error);
    assert.equal(await states(joins), "rejected rejected rejected");
    assert.deepEqual([joins[0]!.reason, joins[1]!.reason, controller.listeners], [error, "no", 0]);
    await pool.join({ timeout: 0 });
  }));

test("Pool: await using closes and joins", async () => {
  let ended = false;
  let outside: Pool | undefined;
  await assert.rejects(async () => {
    await using pool = outside = new Pool(1);
    await pool.createTask(async () => {
      await flushMicrotasks();
      ended = true;
      throw new Error("not observed");
    });
  }, /not observed/);
  assert.equal(ended, true);
  await assert.rejects(outside!.run(() => 1), ClosedError);
});

test("Pool: join ends when the last queued call is found aborted before its signal notifies", async () => {
  const pool = new Pool(1);
  pool.limit = 0;
  const controller = new AbortController();
  controller.signal.addEventListener("abort", () => pool.limit = 1); // comes before the listener of the call
  const queued = pool.run(() => assert.fail("called"), { signal: controller.signal });
  const joined = watch(pool.join());
  controller.abort("gone");
  await rejectsWith(queued, "gone");
  assert.equal(await states([joined]), "fulfilled");
});
