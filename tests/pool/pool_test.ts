/** Pool: slots, order, tasks, signals, and failures that are thrown exactly where they have to be. */
import assert from "node:assert/strict";
import { ClosedError, Pool, type Task, TimeoutError } from "../../mod.ts";
import { assertSoundPool } from "../../lib/pool/pool.ts";
import { test } from "../_test.ts";
import {
  CountingController,
  deferred,
  flushMicrotasks,
  refusesBadOptions,
  rejectsWith,
  states,
  watch,
  withFakeTime,
} from "../_tools.ts";

/** A function that ends on command. */
class Job {
  finish: (value?: unknown) => void = () => {};
  fail: (error: unknown) => void = () => {};
  started = false;
  readonly fn = (signal?: AbortSignal): Promise<unknown> => {
    this.started = true;
    this.signal = signal;
    return new Promise((resolve, reject) => {
      this.finish = resolve;
      this.fail = reject;
    });
  };
  signal: AbortSignal | undefined;
}

async function rejectsName(promise: Promise<unknown>, name: string): Promise<void> {
  await assert.rejects(promise, (error: Error) => error.name === name);
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

test("Pool: fn is never called inside the call that passes it", async () => {
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
  for (const wrong of [1.5, NaN, -1, -Infinity, 2 ** 53]) {
    assert.throws(() => pool.limit = wrong, /limit must be a whole number of 0 or more, or Infinity, got/);
    assert.throws(() => pool.limit = wrong, RangeError);
    assert.throws(() => new Pool(wrong), RangeError);
  }
  assert.throws(() => new Pool(0), /maxConcurrency must be a whole number of 1 or more, or Infinity, got 0/);
  for (const wrong of ["2", null, undefined]) {
    assert.throws(() => pool.limit = wrong as never, TypeError);
    assert.throws(() => new Pool(wrong as never), TypeError);
  }
  assert.equal(pool.limit, 1);
});

test("Pool: with Infinity, every function starts at once", async () => {
  const pool = new Pool(Infinity);
  const all = jobs(1000);
  const runs = all.map((job) => pool.run(job.fn));
  await flushMicrotasks();
  assert.deepEqual([pool.limit, pool.active, pool.waiting], [Infinity, 1000, 0]);
  for (const job of all) job.finish();
  await Promise.all(runs);
  assert.equal(pool.active, 0);
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

test("Pool: a paused pool is idle once its last queued call is cancelled", async () => {
  for (const how of ["abort", "cancel"]) {
    const pool = new Pool(1);
    pool.limit = 0;
    const controllers = [1, 2, 3].map(() => new CountingController());
    const calls = controllers.map(({ signal }) => watch(pool.run(() => assert.fail("called"), { signal })));
    const joined = watch(pool.join());
    if (how === "cancel") pool.cancel("no");
    else for (const index of [1, 0]) controllers[index]!.abort("no");
    if (how === "abort") {
      assert.equal(await states([joined]), "pending");
      controllers[2]!.abort("no");
    }
    assert.equal(await states([...calls, joined]), "rejected rejected rejected fulfilled");
    assert.deepEqual([pool.waiting, ...controllers.map((one) => one.listeners)], [0, 0, 0, 0]);
  }
});

test("Pool: lowered to 0 and raised again in one step, nothing is lost", async () => {
  const pool = new Pool(1);
  const all = jobs(3);
  const runs = all.map((job) => pool.run(job.fn));
  await flushMicrotasks();
  pool.limit = 0;
  all[0]!.finish();
  await flushMicrotasks();
  for (const limit of [1, 0, 2, 0]) pool.limit = limit; // 1 and 2 are granted already
  await flushMicrotasks();
  assert.equal(startedOf(all), "xxx");
  for (const job of all) job.finish();
  await Promise.all(runs);
});

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

test("Pool: a signal shared by all calls has one listener, none after they have ended, and reaches every function", async () => {
  const pool = new Pool(Infinity);
  const shared = new CountingController();
  const signals: AbortSignal[] = [];
  const all = Array.from({ length: 100 }, () => new Job());
  const runs = all.map((job) => pool.run((...args) => job.fn(args[0]), { signal: shared.signal }));
  await flushMicrotasks();
  assert.equal(shared.listeners, 1);
  for (const job of all.slice(0, 50)) job.finish();
  await Promise.all(runs.slice(0, 50));
  shared.abort("no");
  for (const job of all) signals.push(job.signal!);
  assert.deepEqual(signals.map(({ aborted }) => aborted), all.map((_, index) => index >= 50));
  for (const job of all) job.finish();
  await Promise.all(runs);
  assert.equal(shared.listeners, 0);
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

test("Pool: options are read once, when the call is made", async () => {
  const pool = new Pool(1);
  const holder = new Job();
  const running = pool.run(holder.fn);
  await flushMicrotasks();
  const [first, second] = [new CountingController(), new CountingController()];
  let reads = 0;
  const options = {
    signal: first.signal as AbortSignal | undefined,
    get timeout() {
      reads++;
      return undefined;
    },
  };
  const job = new Job();
  const call = watch(pool.run(job.fn, options));
  options.signal = second.signal;
  holder.finish();
  await running;
  await flushMicrotasks();
  second.abort("another signal");
  assert.equal(job.signal!.aborted, false);
  first.abort("the signal of the call");
  assert.equal(job.signal!.reason, "the signal of the call");
  assert.equal(reads, 1);
  job.finish();
  assert.equal(await states([call]), "fulfilled");
});

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

test("Pool: no odd signal or function keeps a slot", async () => {
  const odd = new Error("odd");
  const fail = () => {
    throw odd;
  };
  /** A signal whose `member` can be read `good` times before it throws. */
  const oddSignal = (member: string, good: number): AbortSignal => {
    let left = good;
    const { signal } = new AbortController();
    const value = (signal as unknown as Record<string, unknown>)[member];
    const get = () => left-- > 0 ? typeof value === "function" ? value.bind(signal) : value : fail();
    return Object.defineProperty(signal, member, { get });
  };
  const ways: ((pool: Pool, signal: AbortSignal) => Promise<unknown>)[] = [
    (pool, signal) => pool.run(() => {}, { signal }),
    async (pool, signal) => await (await pool.createTask(() => {}, { signal })).result,
    async (pool, signal) => assert.deepEqual(await pool.map([1, 2], (n) => n, { signal }).toArray(), [1, 2]),
  ];
  for (const way of ways) {
    let failures = 0;
    for (const member of ["aborted", "addEventListener", "removeEventListener"]) {
      for (let good = 0; good < 8; good++) {
        const pool = new Pool(1);
        await way(pool, oddSignal(member, good)).catch((error) => {
          assert.equal(error, odd);
          failures++;
        });
        assert.deepEqual([pool.active, pool.waiting], [0, 0], `${member} ${good}`);
        await pool.join();
      }
    }
    assert.ok(failures > 0);
  }
  const pool = new Pool(1);
  await assert.rejects(pool.run(new Proxy(() => 1, { get: fail })), odd);
  assert.equal(pool.active, 0);
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

test("Pool: cancelling the waiter in the middle, before and after a slot is free", () =>
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

test("Pool: generator functions are refused, and leave no trace", async () => {
  await using pool = new Pool(1);
  for (const generator of [function* () {}, async function* () {}] as (() => unknown)[]) {
    for (const call of [pool.run(generator), pool.createTask(generator)]) {
      await assert.rejects(call, /^TypeError: fn must not be a generator function/);
    }
    assert.throws(() => pool.wrap(generator), /^TypeError: fn must not be a generator function/);
  }
  assert.deepEqual([pool.active, pool.waiting], [0, 0]);
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

test("Pool: queued calls are still served after close, and join waits for them", async () => {
  const pool = new Pool(1);
  const all = jobs(3);
  const runs = all.map((job) => pool.run(job.fn));
  await flushMicrotasks();
  assert.equal(pool.closed, false);
  pool.close();
  assert.equal(pool.closed, true);
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

test("Pool: ending with the reason of the whole pool is no failure, also after another cancellation", async () => {
  const pool = new Pool(1);
  const task = await pool.createTask(() => pool.run(() => {}));
  task.cancel("for itself");
  pool.cancel(new Error("all of it"));
  await pool.join();
  assert.equal(task.status, "cancelled");
});
