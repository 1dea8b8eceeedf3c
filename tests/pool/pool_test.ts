/** Pool: places, order, tasks, and errors that are told to exactly those who have to know. */
import assert from "node:assert/strict";
import { ClosedError, Pool, type Task, TimeoutError } from "../../mod.ts";
import { test } from "../_test.ts";
import {
  CountingController,
  flushMicrotasks,
  refusesBadOptions,
  rejectsWith,
  states,
  watch,
  withFakeTime,
} from "../_tools.ts";

/** A function that ends when it is told to. */
class Job {
  finish: (value?: unknown) => void = () => {};
  fail: (error: unknown) => void = () => {};
  started = false;
  readonly fn = (signal: AbortSignal): Promise<unknown> => {
    this.started = true;
    this.signal = signal;
    return new Promise((resolve, reject) => {
      this.finish = resolve;
      this.fail = reject;
    });
  };
  signal: AbortSignal | undefined;
}

const jobs = (count: number) => Array.from({ length: count }, () => new Job());
const startedOf = (all: Job[]) => all.map((job) => job.started ? "x" : "-").join("");

test("Pool: of 3, ten tasks that sleep 0 to 9 units start at 0,0,0,0,1,2,3,5,7,9", () =>
  withFakeTime(async (time) => {
    const pool = new Pool(3);
    const starts: number[] = [];
    let now = 0;
    const produce = (async () => {
      for (let units = 0; units < 10; units++) {
        await pool.createTask(async () => {
          starts.push(now);
          if (units > 0) await new Promise<void>((resolve) => setTimeout(resolve, units * 10));
        });
      }
    })();
    await flushMicrotasks();
    for (now = 1; now <= 30; now++) {
      time.advance(10);
      await flushMicrotasks();
    }
    await produce;
    await pool.join();
    assert.deepEqual(starts, [0, 0, 0, 0, 1, 2, 3, 5, 7, 9]);
  }));

test("Pool: createTask holds the producer back and resolves to a task that has started", async () => {
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

test("Pool: run gives back what fn gives and frees the place however it ends", async () => {
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
  await pool.join(); // what run threw was for who called it
});

test("Pool: never more than the limit, first come, first served", async () => {
  const pool = new Pool(3);
  let inside = 0, most = 0;
  const order: number[] = [];
  await Promise.all(Array.from({ length: 50 }, (_, i) =>
    pool.run(async () => {
      order.push(i);
      most = Math.max(most, ++inside);
      await Promise.resolve();
      inside--;
    })));
  assert.equal(most, 3);
  assert.deepEqual(order, Array.from({ length: 50 }, (_, i) => i));
});

test("Pool: fn is never called inside of the call that brings it", async () => {
  const pool = new Pool(1);
  let called = 0;
  const running = pool.run(() => called++);
  const creating = pool.createTask(() => called++);
  assert.equal(called, 0);
  await running;
  await creating;
  await pool.join();
  assert.equal(called, 2);
});

test("Pool: the limit grows and shrinks while it works", async () => {
  const pool = new Pool(1);
  const all = jobs(5);
  const runs = all.map((job) => pool.run(job.fn));
  await flushMicrotasks();
  assert.equal(startedOf(all), "x----");
  pool.limit = 3;
  await flushMicrotasks();
  assert.equal(startedOf(all), "xxx--");
  pool.limit = 1;
  all[0]!.finish();
  all[1]!.finish();
  await flushMicrotasks();
  assert.equal(startedOf(all), "xxx--");
  all[2]!.finish();
  await flushMicrotasks();
  assert.equal(startedOf(all), "xxxx-");
  all[3]!.finish();
  await flushMicrotasks();
  all[4]!.finish();
  await Promise.all(runs);
  for (const wrong of [0, 1.5, NaN, -1, Infinity]) {
    assert.throws(() => pool.limit = wrong, RangeError);
    assert.throws(() => new Pool(wrong), RangeError);
  }
  for (const wrong of ["2", null, undefined]) {
    assert.throws(() => pool.limit = wrong as never, TypeError);
    assert.throws(() => new Pool(wrong as never), TypeError);
  }
  assert.equal(pool.limit, 1);
});

test("Pool: giving up in the middle of the line, before and after a place is free", () =>
  withFakeTime(async (time) => {
    for (const first of ["abort", "release", "timeout"]) {
      const pool = new Pool(1);
      const holder = new Job();
      const running = pool.run(holder.fn);
      await flushMicrotasks();
      const middle = new CountingController();
      const all = jobs(3);
      const handles = all.map((job, i) =>
        watch(pool.createTask(job.fn, i === 1 ? { signal: middle.signal, timeout: 10 } : {}))
      );
      assert.equal(pool.waiting, 3);
      if (first === "release") holder.finish();
      if (first === "timeout") time.advance(10);
      else middle.abort("no");
      if (first !== "release") holder.finish();
      await running;
      assert.equal(await states(handles), "fulfilled rejected pending", first);
      if (first === "timeout") assert.ok(handles[1]!.reason instanceof TimeoutError);
      else assert.equal(handles[1]!.reason, "no");
      all[0]!.finish();
      await flushMicrotasks();
      all[2]!.finish();
      await pool.join();
      assert.equal(startedOf(all), "x-x");
      assert.deepEqual([middle.listeners, pool.active], [0, 0]);
    }
  }));

test("Pool: who listens has a signal of its own, and every function is told of a cancellation", async () => {
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

test("Pool: bad arguments, then closed, then the signal", async () => {
  const pool = new Pool(1);
  await refusesBadOptions((options) => pool.run(() => assert.fail("called"), options));
  await refusesBadOptions((options) => pool.createTask(() => assert.fail("called"), options));
  await refusesBadOptions((options) => pool.join(options));
  const signal = AbortSignal.abort("no");
  await rejectsWith(pool.run(() => assert.fail("called"), { signal }), "no");
  await rejectsWith(pool.createTask(() => assert.fail("called"), { signal }), "no");
  pool.close();
  for (const fn of [undefined, 5, {}]) {
    await assert.rejects(pool.run(fn as never), TypeError);
    await assert.rejects(pool.createTask(fn as never), TypeError);
  }
  await assert.rejects(pool.run(() => 1, { signal }), ClosedError);
  await assert.rejects(pool.createTask(() => 1, { signal }), ClosedError);
  await assert.rejects(pool.run(() => 1, { timeout: NaN }), RangeError);
  pool.close();
  await pool.join();
});

test("Pool: what is in line at close is still served, and join waits for it", async () => {
  const pool = new Pool(1);
  const all = jobs(3);
  const runs = all.map((job) => pool.run(job.fn));
  await flushMicrotasks();
  pool.close();
  const joined = watch(pool.join());
  for (const job of all) {
    assert.equal(await states([joined]), "pending");
    job.finish();
    await flushMicrotasks();
  }
  await Promise.all(runs);
  assert.equal(await states([joined]), "fulfilled");
  assert.equal(startedOf(all), "xxx");
});

test("Pool: cancel rejects who is in line, aborts what runs, and keeps the place until the function has ended", async () => {
  const pool = new Pool(1);
  const job = new Job();
  const task = await pool.createTask(job.fn);
  const inLine = [watch(pool.run(() => assert.fail("called"))), watch(pool.createTask(() => assert.fail("called")))];
  const reason = new Error("shutting down");
  pool.cancel(reason);
  pool.cancel(new Error("another reason"));
  assert.equal(await states(inLine), "rejected rejected");
  assert.ok(inLine.every((one) => one.reason === reason));
  assert.deepEqual([job.signal!.aborted, job.signal!.reason, pool.active, task.status], [true, reason, 1, "running"]);
  await assert.rejects(pool.run(() => 1), ClosedError);
  const joined = watch(pool.join());
  assert.equal(await states([joined]), "pending");
  job.fail(reason);
  assert.equal(await states([joined]), "fulfilled"); // what failed with that reason is not thrown
  assert.equal(task.status, "cancelled");
  await rejectsWith(task.result, reason);
});

test("Pool: what fails otherwise after cancel is thrown by join", async () => {
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

test("Pool: a failure that nobody took is thrown by join, once; several in an AggregateError", async () => {
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

test("Pool: a failure that somebody took is theirs, taken early or late", async () => {
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

test("Pool: join gives up without stopping anything or losing a failure", () =>
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
      throw new Error("nobody looked");
    });
  }, /nobody looked/);
  assert.equal(ended, true);
  await assert.rejects(outside!.run(() => 1), ClosedError);
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
  // JavaScriptCore keeps no frames of callers that wait.
  if (!("Bun" in globalThis)) assert.match(error.stack!, /theCaller/);
});

test("Pool: what ends with the reason of the whole pool is not a failure, whatever it was told before", async () => {
  const pool = new Pool(1);
  const task = await pool.createTask(() => pool.run(() => {}));
  task.cancel("for itself");
  pool.cancel(new Error("all of it"));
  await pool.join();
  assert.equal(task.status, "cancelled");
});
