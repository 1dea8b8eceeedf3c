/** Bug reports of other libraries, with this module in the reporter's situation. */
import assert from "node:assert/strict";
import { BoundedSemaphore, Pool, Queue, RateLimiter, TaskGroup } from "../../mod.ts";
import { assertSound } from "../sound/mod.ts";
import { test } from "../_test.ts";
import { deferred, flushMicrotasks, rejectsWith, states, watch, withFakeTime } from "../_tools.ts";

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason));
  });
}

test("p-queue 168: the running and the waiting call are aborted in one turn, and the pool goes on", async () => {
  const pool = new Pool(1);
  const controllers = [new AbortController(), new AbortController()];
  const calls = controllers.map(({ signal }) => watch(pool.run(untilAborted, { signal })));
  await flushMicrotasks();
  for (const controller of controllers) controller.abort("enough");
  assert.equal(await states(calls), "rejected rejected");
  assert.deepEqual([pool.active, pool.waiting], [0, 0]);
  assert.equal(await pool.run(() => "next"), "next");
  assertSound(pool);
});

test("p-queue 241: a call with an aborted signal is rejected while the pool is full", async () => {
  const pool = new Pool(1);
  const gate = deferred();
  const running = pool.run(() => gate.promise);
  await rejectsWith(pool.run(() => assert.fail("called"), { signal: AbortSignal.abort("gone") }), "gone");
  gate.resolve();
  await running;
  await pool.join();
});

test("a serial queue of TencentDB, 1039: a paused pool whose queue is emptied is idle for those that join", async () => {
  const pool = new Pool(1);
  pool.limit = 0;
  const queued = watch(pool.run(() => assert.fail("called")));
  const joining = watch(pool.join());
  await flushMicrotasks();
  pool.cancel("cleared");
  assert.equal(await states([queued, joining]), "rejected fulfilled");
});

test("p-map 48: the iterator throws when it is asked again after an item", async () => {
  const error = new Error("cursor lost");
  for (const symbol of [Symbol.iterator, Symbol.asyncIterator]) {
    let asked = 0;
    const step = () => {
      if (++asked > 2) throw error;
      return symbol === Symbol.iterator
        ? { done: false, value: asked }
        : Promise.resolve({ done: false, value: asked });
    };
    const pool = new Pool(1);
    const items = { [symbol]: () => ({ next: step }) } as unknown as Iterable<number>;
    await rejectsWith(pool.map(items, (n) => Promise.resolve(n)).toArray(), error);
    await pool.join();
    assert.equal(asked, 3);
  }
});

test("CPython 155433: an abort from outside after the group was cancelled is not swallowed", async () => {
  const outside = new AbortController();
  const cleanUp = deferred();
  const scope = watch(TaskGroup.scope((group) => {
    group.run((signal) => untilAborted(signal).catch(() => cleanUp.promise));
    queueMicrotask(() => group.cancel());
  }, { signal: outside.signal }));
  await flushMicrotasks();
  outside.abort("timed out");
  cleanUp.resolve();
  await rejectsWith(scope.promise, "timed out");
});

test("CPython 155418: a task that cancels its group before its first await does not hang it", async () => {
  const begun: string[] = [];
  await TaskGroup.scope((group) => {
    group.run(async (signal) => {
      begun.push("canceller");
      group.cancel();
      await untilAborted(signal);
    });
    group.run(() => void begun.push("other"));
  });
  assert.deepEqual(begun, ["canceller"]);
});

test("CPython 116720: a handled failure of an inner group does not hide that the outer one has failed", async () => {
  const [outer, inner] = [new Error("outer"), new Error("inner")];
  const seen: unknown[] = [];
  const scope = TaskGroup.scope(async (group) => {
    const gate = deferred();
    const nested = TaskGroup.scope((own) => {
      own.run(() => gate.promise.then(() => Promise.reject(inner)));
      group.run(() => gate.promise.then(() => Promise.reject(outer)));
      return untilAborted(own.signal);
    }, { signal: group.signal });
    gate.resolve();
    await nested.catch((error) => seen.push(error));
    await untilAborted(group.signal).catch((error) => seen.push(error));
    seen.push(await group.run(() => "started").catch((error) => error));
  });
  await rejectsWith(scope, outer);
  assert.deepEqual(seen, [inner, outer, outer]);
});

test("CPython 95704: failures of the clean-up after an abort from outside are thrown, with its reason first", async () => {
  const outside = new AbortController();
  const errors = [new Error("close 1"), new Error("close 2")];
  const scope = TaskGroup.scope(async (group) => {
    for (const error of errors) group.run((signal) => untilAborted(signal).catch(() => Promise.reject(error)));
    await untilAborted(group.signal);
  }, { signal: outside.signal });
  await flushMicrotasks();
  outside.abort("timed out");
  await assert.rejects(scope, (error: AggregateError) => {
    assert.deepEqual(error.errors, ["timed out", ...errors]);
    return true;
  });
});

test("Tornado 2826: an item that is put in the turn in which its getter is cancelled is not lost", async () => {
  for (const isPutFirst of [true, false]) {
    const queue = new Queue<string>();
    const controller = new AbortController();
    const getting = watch(queue.get({ signal: controller.signal }));
    if (isPutFirst) queue.tryPut("item");
    controller.abort("gone");
    if (!isPutFirst) queue.tryPut("item");
    await flushMicrotasks();
    assert.equal(getting.state, isPutFirst ? "fulfilled" : "rejected");
    assert.equal(isPutFirst ? getting.value : queue.tryGet()?.value, "item");
    assertSound(queue);
  }
});

test("async-mutex 93: a limit of 1 that is raised to 5 while one is held admits five in all", async () => {
  const semaphore = new BoundedSemaphore(1);
  const first = await semaphore.acquire();
  semaphore.limit = 5;
  const calls = Array.from({ length: 6 }, () => watch(semaphore.acquire()));
  assert.equal(await states(calls), "fulfilled fulfilled fulfilled fulfilled pending pending");
  first.release();
  assert.equal(await states(calls.slice(4)), "fulfilled pending");

  const pool = new Pool(1);
  const gate = deferred();
  const runs = [pool.run(() => gate.promise)];
  pool.limit = 5;
  for (let i = 0; i < 6; i++) runs.push(pool.run(() => gate.promise));
  assert.deepEqual([pool.active, pool.waiting], [5, 2]);
  gate.resolve();
  await Promise.all(runs);
});

test("OmniRoute 9533: a call behind a budget that is used up ends by its time, and a changed limit starts the others", () =>
  withFakeTime(async (time) => {
    const rate = new RateLimiter(1, 60_000);
    const pool = new Pool(2, { rate });
    await pool.run(() => "takes the budget");
    const bounded = watch(pool.run(() => {}, { timeout: 100 }));
    const patient = watch(pool.run(() => "started"));
    rate.block(5_000); // an answer 429 with Retry-After
    await time.pass(100);
    assert.equal(await states([bounded, patient]), "rejected pending");
    assert.equal((bounded.reason as Error).name, "TimeoutError");
    rate.limit = 2;
    await time.pass(4_800);
    assert.equal(patient.state, "pending");
    await time.pass(200);
    assert.equal(patient.value, "started");
  }));

test("data-fair 486: callers that left while a limit was used up have taken nothing from those that stay", () =>
  withFakeTime(async (time) => {
    const limiter = new RateLimiter(2, 1000);
    assert.equal(limiter.tryAcquire(2), true);
    const controller = new AbortController();
    const { signal } = controller;
    const gone = Array.from({ length: 1000 }, () => watch(limiter.acquire({ signal })));
    const live = [watch(limiter.acquire()), watch(limiter.acquire())];
    await time.pass(500);
    controller.abort("the client has left");
    await flushMicrotasks();
    assert.ok(gone.every(({ reason }) => reason === "the client has left"));
    assert.equal(limiter.waiting, 2);
    await time.pass(500);
    assert.equal(await states(live), "fulfilled fulfilled");
    assertSound(limiter);
  }));

test("denoland/std 7275: an abort after the source is exhausted is not swallowed, and settled results do not hide it", async () => {
  for (const settled of [false, true]) {
    const [controller, reason] = [new AbortController(), new Error("late")];
    const begun = deferred();
    const mapping = watch(
      Pool.map([1], 2, (_, __, signal) => {
        begun.resolve();
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      }, { signal: controller.signal, settled }),
    );
    await begun.promise;
    await flushMicrotasks();
    controller.abort(reason);
    assert.equal(await states([mapping]), "rejected");
    assert.equal(mapping.reason, reason);
  }
});

test("denoland/std 7086: a queue is the source of a map whose abort takes no item", async () => {
  const queue = new Queue<number>();
  const controller = new AbortController();
  const mapping = watch(Pool.map(queue.values({ signal: controller.signal }), 2, (n) => n));
  queue.tryPut(1);
  await flushMicrotasks();
  controller.abort("closed");
  assert.equal(await states([mapping]), "rejected");
  queue.tryPut(2);
  assert.deepEqual([mapping.reason, queue.size, queue.getting], ["closed", 1, 0]);
});
