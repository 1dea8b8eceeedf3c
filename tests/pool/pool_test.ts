/** Pool: slots, order, limits, and calls that are refused. */
import assert from "node:assert/strict";
import { ClosedError, Pool, type Task } from "../../mod.ts";
import { assertSoundPool } from "../sound/pool/pool.ts";
import { test } from "../_test.ts";
import { deferred, flushMicrotasks, refusesBadOptions, rejectsWith, states, watch } from "../_tools.ts";
import { Job, jobs, startedOf } from "./_jobs.ts";

async function rejectsName(promise: Promise<unknown>, name: string): Promise<void> {
  await assert.rejects(promise, (error: Error) => error.name === name);
}

test("Pool: createTask applies back-pressure and resolves to a task that has started", async () => {
  const pool = new Pool(2);
  const all = jobs(3);
  const handles = all.map((job) => watch(pool.createTask(job.fn)));
  assert.equal(await states(handles), "fulfilled fulfilled pending");
  assert.equal(startedOf(all), "xx-");
  assert.deepEqual([pool.active, pool.waiting, pool.limit], [2, 1, 2]);
  all[1]!.finish("one");
  assert.equal(await states(handles), "fulfilled fulfilled fulfilled");
  assert.equal(startedOf(all), "xxx");
  const tasks = handles.map((handle) => handle.value as Task<unknown>);
  assert.deepEqual(tasks.map((task) => task.status), ["running", "fulfilled", "running"]);
  assert.equal(await tasks[1]!.result, "one");
  assert.equal("then" in tasks[0]!, false);
  assert.equal(await tasks[0], tasks[0]);
  all[0]!.finish();
  all[2]!.finish();
  await pool.join();
  assert.deepEqual([pool.active, pool.waiting], [0, 0]);
});

test("Pool: run settles as its function does and frees the slot either way", async () => {
  const pool = new Pool(1);
  assert.equal(await pool.run(() => 5), 5);
  assert.equal(await pool.run((signal) => Promise.resolve(signal.aborted)), false);
  const error = new Error("work failed");
  await rejectsWith(pool.run(() => Promise.reject(error)), error);
  await rejectsWith(
    pool.run(() => {
      throw error;
    }),
    error,
  );
  assert.equal(pool.active, 0);
  await pool.join(); // errors of run are for its caller
});

test("Pool: a limit is a whole number, of 1 or more at first", () => {
  const pool = new Pool(1);
  for (const wrong of [1.5, NaN, -1, -Infinity, 2 ** 53]) {
    assert.throws(() => pool.limit = wrong, /limit must be a whole number of 0 or more, or Infinity, got/);
    assert.throws(() => pool.limit = wrong, RangeError);
    assert.throws(() => new Pool(wrong), RangeError);
  }
  assert.throws(() => new Pool(0), /limit must be a whole number of 1 or more, or Infinity, got 0/);
  for (const wrong of ["2", null, undefined]) {
    assert.throws(() => pool.limit = wrong as never, TypeError);
    assert.throws(() => new Pool(wrong as never), TypeError);
  }
  assert.equal(pool.limit, 1);
});

test("Pool: limit = 0 pauses: running functions go on, none starts until it is raised", async () => {
  for (const raised of [2, Infinity]) {
    const pool = new Pool(2);
    const all = jobs(4);
    const runs = [all[0]!, all[1]!].map((job) => pool.run(job.fn));
    await flushMicrotasks();
    pool.limit = 0;
    const order: string[] = [];
    const later = [
      pool.run(() => order.push("run")),
      pool.createTask(() => order.push("task")).then((task) => task.result),
      pool.map([1], () => order.push("map")).toArray(),
    ];
    all[0]!.finish();
    all[1]!.finish();
    await Promise.all(runs);
    const joined = watch(pool.join());
    assert.equal(await states([joined]), "pending");
    assert.deepEqual([pool.limit, pool.active, pool.waiting, order], [0, 0, 3, []]);
    await rejectsName(pool.run(() => assert.fail("called"), { timeout: 0 }), "TimeoutError");
    pool.limit = raised;
    await Promise.all(later);
    assert.deepEqual(order, ["run", "task", "map"]);
    assert.equal(await states([joined]), "fulfilled");
  }
});

test("Pool: its name is in messages", async () => {
  const pool = new Pool(1, { name: "crawler" });
  assert.deepEqual([pool.name, new Pool(1).name, new Pool(1, {}).name], ["crawler", undefined, undefined]);
  const job = new Job();
  const running = pool.run(job.fn);
  await flushMicrotasks();
  await assert.rejects(
    pool.run(() => 1, { timeout: 0 }),
    /^TimeoutError: Cannot run in pool "crawler": timed out after 0 ms/,
  );
  await assert.rejects(pool.createTask(() => 1, { timeout: 0 }), /Cannot create task in pool "crawler": timed out/);
  await assert.rejects(pool.join({ timeout: 0 }), /Cannot join pool "crawler": timed out after 0 ms/);
  job.finish();
  await running;
  for (const message of ["a", "b"]) await pool.createTask(() => Promise.reject(new Error(message)));
  await assert.rejects(pool.join(), /Cannot join pool "crawler": 2 failures/);
  pool.close();
  await assert.rejects(pool.run(() => 1), /Cannot run in pool "crawler": pool is closed/);
  assert.throws(() => pool.map([], () => 1), /Cannot map in pool "crawler": pool is closed/);
  for (const name of [null, 5, {}, Symbol()]) assert.throws(() => new Pool(1, { name } as never), TypeError);
  for (const options of [null, 5, "crawler"]) assert.throws(() => new Pool(1, options as never), TypeError);
});

test("Pool: bad arguments, then closed, then the signal", async () => {
  const pool = new Pool(1);
  await refusesBadOptions((options) => pool.createTask(() => assert.fail("called"), options));
  await refusesBadOptions((options) => pool.join(options));
  const signal = AbortSignal.abort("no");
  await rejectsWith(pool.createTask(() => assert.fail("called"), { signal }), "no");
  assert.equal(pool.closed, false);
  pool.close();
  assert.equal(pool.closed, true);
  for (const fn of [undefined, 5, {}, function* () {}]) {
    await assert.rejects(pool.run(fn as never), TypeError);
    await assert.rejects(pool.createTask(fn as never), TypeError);
  }
  await assert.rejects(pool.createTask(() => 1, { signal }), ClosedError);
  pool.close();
  await pool.join();
});

test("Pool.wrap: calls wait in the queue of the pool, are refused and cancelled like those of run", async () => {
  const pool = new Pool(1, { name: "pages", maxWaiting: 2 });
  const gates = [deferred<string>(), deferred<string>()];
  const order: number[] = [];
  const load = pool.wrap(async (n: number) => {
    order.push(n);
    return await gates[n]!.promise;
  });
  const calls = [load(0), load(1), pool.run(() => order.push(2))].map((call) => watch<unknown>(call));
  assert.deepEqual([order, pool.active, pool.waiting], [[], 1, 2]);
  await assert.rejects(load(3), /^QueueFullError: Cannot run in pool "pages": 2 calls are waiting already$/);
  await flushMicrotasks();
  gates[0]!.resolve("first");
  await flushMicrotasks();
  gates[1]!.reject(new Error("second"));
  assert.equal(await states(calls), "fulfilled rejected fulfilled");
  assert.deepEqual([calls[0]!.value, order], ["first", [0, 1, 2]]);
  const sync = pool.wrap(() => {
    throw new Error("synchronous");
  });
  await assert.rejects(sync(), /synchronous/);
  assertSoundPool(pool);

  const [running, queued] = [watch(pool.run(() => gates[0]!.promise)), watch(load(1))];
  const begun = order.length;
  pool.cancel("over");
  await rejectsWith(queued.promise, "over");
  await running.promise.catch(() => {});
  assert.deepEqual([order.length, pool.active], [begun, 0]);
  await assert.rejects(load(1), /^ClosedError: Cannot run in pool "pages": pool is closed$/);
});

test("Pool: the stack of an error shows who called run", async () => {
  const pool = new Pool(1);
  async function theCaller() {
    return await pool.run(async () => {
      await Promise.resolve();
      throw new Error("deep inside");
    });
  }
  const error = await theCaller().catch((error: Error) => error) as unknown as Error;
  assert.match(error.stack!, /theCaller/);
});

test("Pool: while it is open, nothing reads the signal that calls share: on Workers, other requests cannot", async () => {
  const pool = new Pool(1);
  const unreadable = { get: () => assert.fail("of another request") };
  await pool.run((...signal: unknown[]) => void Object.defineProperty(signal[0], "aborted", unreadable));
  assert.equal(await pool.run(() => 1), 1);
  assert.equal(await (await pool.createTask(() => 2)).result, 2);
  await pool.join();
});
