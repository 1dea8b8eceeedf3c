/** Pool: signals, tasks and pools that are cancelled. */
import assert from "node:assert/strict";
import { ClosedError, Pool } from "../../mod.ts";
import { test } from "../_test.ts";
import { CountingController, flushMicrotasks, rejectsWith, states, watch } from "../_tools.ts";
import { Job } from "./_jobs.ts";

test("Pool: the caller's signal reaches the function, and the promise settles as the function does", async () => {
  const pool = new Pool(3);
  const reason = new Error("the user left");
  const end = {
    throws: (signal: AbortSignal) => Promise.reject(signal.reason),
    returns: () => Promise.resolve("done all the same"),
    fails: () => Promise.reject(new TypeError("clean-up failed")),
  };
  for (const [how, finish] of Object.entries(end)) {
    const controllers = [1, 2, 3].map(() => new CountingController());
    const given: AbortSignal[] = [];
    const calls = controllers.map(({ signal }) =>
      watch(pool.run(async (own) => {
        given.push(own);
        await new Promise((aborted) => own.addEventListener("abort", aborted));
        return await finish(own);
      }, { signal }))
    );
    await flushMicrotasks();
    controllers[1]!.abort(reason);
    assert.deepEqual(given.map((own) => own.aborted), [false, true, false]);
    assert.equal(given[1]!.reason, reason);
    assert.equal(pool.active, 3);
    assert.equal(await states(calls), `pending ${how === "returns" ? "fulfilled" : "rejected"} pending`);
    if (how === "throws") assert.equal(calls[1]!.reason, reason);
    if (how === "fails") assert.ok(calls[1]!.reason instanceof TypeError);
    controllers[0]!.abort(reason);
    controllers[2]!.abort(reason);
    await flushMicrotasks();
    assert.deepEqual(controllers.map(({ listeners }) => listeners), [0, 0, 0]);
  }
  await pool.join();
});

test("Pool: a task is aborted by its caller's signal, and is then cancelled like by its own cancel", async () => {
  const pool = new Pool(3);
  const controller = new CountingController();
  const [job, other] = [new Job(), new Job()];
  const task = await pool.createTask(job.fn, { signal: controller.signal });
  const ended = await pool.createTask(other.fn, { signal: controller.signal });
  other.finish("in time");
  await flushMicrotasks();
  controller.abort("no");
  assert.deepEqual([task.signal.reason, task.status, ended.signal.aborted], ["no", "running", false]);
  job.fail("no");
  await pool.join(); // not a failure
  assert.deepEqual([task.status, ended.status, controller.listeners], ["cancelled", "fulfilled", 0]);
});

test("Pool: a call whose signal aborts before its function starts is cancelled, and its slot goes to the next", async () => {
  const pool = new Pool(1);
  const controllers = [1, 2, 3].map(() => new CountingController());
  const started: number[] = [];
  const calls = controllers.map(({ signal }, index) => watch(pool.run(() => started.push(index), { signal })));
  controllers[0]!.abort("has its slot");
  controllers[1]!.abort("is queued");
  assert.equal(await states(calls), "rejected rejected fulfilled");
  assert.deepEqual([started, calls[0]!.reason, calls[1]!.reason], [[2], "has its slot", "is queued"]);
  assert.deepEqual([pool.active, pool.waiting, ...controllers.map((one) => one.listeners)], [0, 0, 0, 0, 0]);
});

test("Pool: a call that is cancelled with the pool before its function starts does not start", async () => {
  for (const make of ["run", "createTask"] as const) {
    const pool = new Pool(1);
    const calls = [1, 2, 3].map(() => watch<unknown>(pool[make](() => assert.fail("called"))));
    pool.cancel("stop");
    assert.equal(await states(calls), "rejected rejected rejected");
    assert.deepEqual(calls.map(({ reason }) => reason), ["stop", "stop", "stop"]);
    assert.equal(pool.active, 0);
    await pool.join();
  }
});

test("Pool: a function that throws when it is looked at keeps no slot", async () => {
  const odd = new Error("odd");
  const fail = () => {
    throw odd;
  };
  const pool = new Pool(1);
  await assert.rejects(pool.run(new Proxy(() => 1, { get: fail })), odd);
  assert.equal(pool.active, 0);
});

test("Pool: a function that listens has a signal of its own, and every function is notified of a cancellation", async () => {
  const pool = new Pool(3);
  const signals: AbortSignal[] = [];
  const keep = async (signal: AbortSignal) => {
    signals.push(signal);
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    return signal.reason;
  };
  // A function without parameters may look at its arguments all the same.
  const runs = [pool.run(keep), pool.run(keep), pool.run((...args) => keep(...args))];
  await flushMicrotasks();
  assert.equal(new Set(signals).size, 3);
  pool.cancel("enough");
  assert.deepEqual(await Promise.all(runs), ["enough", "enough", "enough"]);
  await pool.join();
});

test("Pool: cancel rejects queued calls, aborts running functions, and keeps their slots until they have ended", async () => {
  const pool = new Pool(1);
  const job = new Job();
  const task = await pool.createTask(job.fn);
  const queued = [watch(pool.run(() => assert.fail("called"))), watch(pool.createTask(() => assert.fail("called")))];
  const reason = new Error("shutting down");
  pool.cancel(reason);
  pool.cancel(new Error("another reason"));
  assert.equal(await states(queued), "rejected rejected");
  assert.ok(queued.every((one) => one.reason === reason));
  assert.deepEqual([job.signal!.aborted, job.signal!.reason, pool.active, task.status], [true, reason, 1, "running"]);
  await assert.rejects(pool.run(() => 1), ClosedError);
  const joined = watch(pool.join());
  assert.equal(await states([joined]), "pending");
  job.fail(reason);
  assert.equal(await states([joined]), "fulfilled"); // failures with that reason are not thrown
  assert.equal(task.status, "cancelled");
  await rejectsWith(task.result, reason);
});

test("Pool: failures with another error after cancel are thrown by join", async () => {
  const pool = new Pool(2);
  const [stubborn, failing] = [new Job(), new Job()];
  const task = await pool.createTask(stubborn.fn);
  await pool.createTask(failing.fn);
  pool.cancel(new Error("stop"));
  stubborn.finish("done all the same");
  const error = new Error("disk full");
  failing.fail(error);
  await rejectsWith(pool.join(), error);
  assert.equal(task.status, "fulfilled");
  assert.equal(await task.result, "done all the same");
});

test("Pool: a task is cancelled by itself, once", async () => {
  await using pool = new Pool(2);
  const [job, other] = [new Job(), new Job()];
  const [task, running] = [await pool.createTask(job.fn), await pool.createTask(other.fn)];
  task.cancel("first");
  task.cancel("second");
  assert.deepEqual([job.signal!.reason, task.signal.reason, other.signal!.aborted], ["first", "first", false]);
  assert.equal(task.status, "running");
  job.fail("first");
  await flushMicrotasks();
  assert.equal(task.status, "cancelled");
  other.finish();
  await flushMicrotasks();
  running.cancel("too late");
  assert.deepEqual([running.status, running.signal.aborted], ["fulfilled", false]);
});

test("Pool: ending with the reason of the whole pool is no failure, also after another cancellation", async () => {
  const pool = new Pool(1);
  const task = await pool.createTask(() => pool.run(() => {}));
  task.cancel("for itself");
  pool.cancel(new Error("all of it"));
  await pool.join();
  assert.equal(task.status, "cancelled");
});
