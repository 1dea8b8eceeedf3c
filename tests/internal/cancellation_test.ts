/** Giving up at scale: one listener a signal, one timer a time-out, nothing left behind, memory bounded. */
import assert from "node:assert/strict";
import { Event, KeyedMutex, Lock, Semaphore, TimeoutError } from "../../mod.ts";
import { test } from "../_test.ts";
import { CountingController, states, watch, withFakeTime } from "../_tools.ts";

const MANY = 100_000;

/** Rejections in the order in which they happened. */
function collect(promises: Promise<unknown>[]): { reasons: unknown[]; all: Promise<unknown> } {
  const reasons: unknown[] = [];
  return { reasons, all: Promise.all(promises.map((promise) => promise.catch((reason) => reasons.push(reason)))) };
}

test("exit: 100,000 waiters with one signal share one listener and leave nothing", async () => {
  const lock = new Lock();
  const guard = await lock.acquire();
  const shared = new CountingController();
  const { reasons, all } = collect(Array.from({ length: MANY }, () => lock.acquire({ signal: shared.signal })));
  const survivor = watch(lock.acquire());
  assert.deepEqual([lock.waiting, shared.listeners, shared.added], [MANY + 1, 1, 1]);
  const reason = new Error("shutdown");
  shared.abort(reason);
  assert.deepEqual([lock.waiting, shared.listeners], [1, 0]);
  await all;
  assert.equal(reasons.length, MANY);
  assert.ok(reasons.every((one) => one === reason));
  guard.release();
  assert.equal(await states([survivor]), "fulfilled");
  survivor.value!.release();
});

test("exit: 100,000 waiters with signals of their own, aborted in any order, leave nothing", async () => {
  const lock = new Lock();
  const guard = await lock.acquire();
  const controllers = Array.from({ length: MANY }, () => new AbortController());
  const { reasons, all } = collect(controllers.map(({ signal }) => lock.acquire({ signal })));
  const last = watch(lock.acquire());
  // From the middle outwards: neither the head nor the tail of the line is where they leave.
  for (let i = 0; i < MANY; i++) {
    const step = (i >> 1) + (i & 1);
    controllers[(MANY >> 1) + (i & 1 ? -step : step)]!.abort(i);
    if (i % 10_000 === 0) assert.equal(lock.waiting, MANY - i);
  }
  await all;
  assert.equal(reasons.length, MANY);
  guard.release();
  (await last.promise).release();
  assert.deepEqual([lock.locked, lock.waiting], [false, 0]);
});

test("exit: 100,000 waiters with one time-out share one timer and leave nothing", () =>
  withFakeTime(async (time) => {
    const lock = new Lock();
    const guard = await lock.acquire();
    const { reasons, all } = collect(Array.from({ length: MANY }, () => lock.acquire({ timeout: 50 })));
    assert.deepEqual([lock.waiting, time.timers, time.started], [MANY, 1, 1]);
    time.advance(50);
    assert.deepEqual([lock.waiting, time.timers], [0, 0]);
    await all;
    assert.ok(reasons.every((one) => one instanceof TimeoutError));
    assert.equal(new Set(reasons).size, MANY, "fresh instances");
    guard.release();
  }));

test("exit: one timer serves many lines, each waiter at its own time", () =>
  withFakeTime(async (time) => {
    const keys = new KeyedMutex<number>(), event = new Event(), semaphore = new Semaphore(0);
    const guards = [0, 1, 2].map((key) => keys.tryAcquire(key)!);
    const waiters = [];
    for (const wait of [() => keys.acquire(0, { timeout: 100 }), () => event.wait({ timeout: 100 })]) {
      waiters.push(watch<unknown>(wait()));
      time.advance(30);
    }
    waiters.push(watch<unknown>(semaphore.acquire({ timeout: 100 })));
    assert.deepEqual([time.timers, time.started], [1, 1]);
    time.advance(39);
    assert.equal(await states(waiters), "pending pending pending");
    time.advance(1);
    assert.equal(await states(waiters), "rejected pending pending");
    time.advance(29);
    assert.equal(await states(waiters), "rejected pending pending");
    time.advance(1);
    assert.equal(await states(waiters), "rejected rejected pending");
    time.advance(30);
    assert.equal(await states(waiters), "rejected rejected rejected");
    guards.forEach((guard) => guard.release());
  }));

test("exit: the timer goes with the last who needs it, and starts again for who comes later", () =>
  withFakeTime(async (time) => {
    const lock = new Lock();
    let guard = await lock.acquire();
    for (let round = 0; round < 3; round++) {
      const next = watch(lock.acquire({ timeout: 100 }));
      assert.equal(time.timers, 1);
      time.advance(60);
      guard.release();
      assert.equal(time.timers, 0);
      assert.equal(await states([next]), "fulfilled");
      guard = next.value!;
    }
    guard.release();
  }));

test("exit: times above what a timer can count neither fire early nor never", () =>
  withFakeTime(async (time) => {
    const event = new Event();
    const far = [2 ** 31, 2 ** 31 + 5, 2 ** 33].map((timeout) => watch(event.wait({ timeout })));
    const never = watch(event.wait({ timeout: Number.MAX_VALUE }));
    time.advance(2 ** 31 - 1);
    assert.equal(await states(far), "pending pending pending");
    time.advance(1);
    assert.equal(await states(far), "rejected pending pending");
    time.advance(5);
    assert.equal(await states(far), "rejected rejected pending");
    time.advance(2 ** 33);
    assert.equal(await states(far), "rejected rejected rejected");
    assert.equal(await states([never]), "pending");
    event.set();
    await never.promise;
  }));

test("exit: fractions of a millisecond are not cut off", () =>
  withFakeTime(async (time) => {
    const event = new Event();
    const waiter = watch(event.wait({ timeout: 0.2 }));
    time.advance(0.5);
    assert.equal(await states([waiter]), "pending");
    time.advance(0.5);
    assert.equal(await states([waiter]), "rejected");
    assert.equal((waiter.reason as Error).message, "Cannot wait for event: timed out after 0.2 ms");
  }));

test("exit: signal and time-out together, whichever comes first, once", () =>
  withFakeTime(async (time) => {
    for (const first of ["signal", "timeout", "grant"]) {
      const lock = new Lock();
      const guard = await lock.acquire();
      const controller = new CountingController();
      const waiter = watch(lock.acquire({ signal: controller.signal, timeout: 10 }));
      if (first === "signal") controller.abort("by signal");
      if (first === "timeout") time.advance(10);
      if (first === "grant") guard.release();
      controller.abort("by signal");
      time.advance(10);
      guard.release();
      await states([waiter]);
      const outcome = { signal: "by signal", timeout: TimeoutError, grant: undefined }[first];
      if (typeof outcome === "function") assert.ok(waiter.reason instanceof outcome);
      else assert.equal(waiter.reason, outcome);
      assert.equal(waiter.state, first === "grant" ? "fulfilled" : "rejected");
      waiter.value?.release();
      assert.deepEqual([lock.locked, controller.listeners, time.timers], [false, 0, 0]);
    }
  }));

test("exit: a signal that outlives many waits carries no listener between them", async () => {
  const lock = new Lock();
  const shutdown = new CountingController();
  for (let i = 0; i < 100; i++) {
    const guard = await lock.acquire({ signal: shutdown.signal });
    const next = lock.acquire({ signal: shutdown.signal });
    assert.equal(shutdown.listeners, 1);
    guard.release();
    (await next).release();
    assert.equal(shutdown.listeners, 0);
  }
});

test("exit: retrying with a short time-out behind a long holder does not grow the line", () =>
  withFakeTime(async (time) => {
    const semaphore = new Semaphore(0);
    const patient = watch(semaphore.acquire());
    for (let round = 0; round < 1000; round++) {
      const { all } = collect(Array.from({ length: 20 }, () => semaphore.acquire({ timeout: 1 })));
      time.advance(1);
      await all;
      assert.equal(semaphore.waiting, 1);
    }
    semaphore.release();
    assert.equal(await states([patient]), "fulfilled");
  }));
