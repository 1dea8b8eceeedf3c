/** Condition: the hold is lent and taken back under the same guard, on every path. */
import assert from "node:assert/strict";
import { Condition, Lock, NotHeldError, Semaphore, TimeoutError, TimeoutLock } from "../mod.ts";
import { test } from "./_test.ts";
import {
  CountingController,
  flushMicrotasks,
  nextTurn,
  refusesBadOptions,
  rejectsWith,
  states,
  watch,
  type Watched,
  withFakeTime,
} from "./_tools.ts";

test("Condition: using it without holding the lock is an error, after bad arguments and before the signal", async () => {
  const condition = new Condition();
  const signal = AbortSignal.abort();
  const notHeld = (act: string) => (error: Error) =>
    error instanceof NotHeldError && error.message === `Cannot ${act} condition: lock is not held`;
  await assert.rejects(condition.wait(), notHeld("wait for"));
  await assert.rejects(condition.wait({ signal, timeout: 0 }), notHeld("wait for"));
  await assert.rejects(condition.waitFor(() => true, { signal, timeout: 0 }), notHeld("wait for"));
  assert.throws(() => condition.notify(), notHeld("notify"));
  assert.throws(() => condition.notifyAll(), notHeld("notify"));
  assert.throws(() => condition.release(), NotHeldError);
  await refusesBadOptions((options) => condition.wait(options));
  await refusesBadOptions((options) => condition.waitFor(() => true, options));
  for (const predicate of [undefined, true, {}]) await assert.rejects(condition.waitFor(predicate as never), TypeError);
  for (const n of [-1, 1.5, NaN, Infinity]) assert.throws(() => condition.notify(n), RangeError);
  for (const n of ["1", null, 1n]) assert.throws(() => condition.notify(n as never), TypeError);
  for (const lock of [null, {}, 5, new Semaphore()]) assert.throws(() => new Condition(lock as never), TypeError);
});

test("Condition: an aborted signal and timeout 0 reject without giving up the lock", async () => {
  const lock = new Lock();
  const condition = new Condition(lock);
  const guard = await lock.acquire();
  const next = watch(lock.acquire());
  const reason = new Error("enough");
  await rejectsWith(condition.wait({ signal: AbortSignal.abort(reason) }), reason);
  await rejectsWith(condition.waitFor(() => true, { signal: AbortSignal.abort(reason) }), reason);
  await assert.rejects(condition.wait({ timeout: 0 }), TimeoutError);
  await assert.rejects(condition.waitFor(() => false, { timeout: 0 }), TimeoutError);
  assert.equal(await condition.waitFor(() => "there", { timeout: 0 }), "there");
  assert.equal(guard.held, true);
  assert.equal(await states([next]), "pending");
  guard.release();
  (await next.promise).release();
});

test("Condition: a notification in the step of an abort goes to the next one", async () => {
  const condition = new Condition();
  const controller = new AbortController();
  const holders: Disposable[] = [];
  // This listener was added first: it notifies when the signal is aborted and has not called its other listeners yet.
  controller.signal.addEventListener("abort", () => {
    holders.push(condition.tryAcquire()!);
    condition.notify();
  });
  const all: Watched<void>[] = [];
  for (const options of [{ signal: controller.signal }, {}]) {
    const guard = await condition.acquire();
    all.push(watch(
      condition.wait(options).finally(() => {
        assert.equal(guard.held, true, "the lock is back, whichever way wait ended");
        guard.release();
      }),
    ));
  }
  controller.abort();
  holders[0]![Symbol.dispose]();
  assert.equal(await states(all), "rejected fulfilled");
  assert.equal(condition.locked, false);
});

test("Condition: waitFor calls its predicate at once and after every notification, and resolves to its value", async () => {
  const condition = new Condition();
  let stock = 0, calls = 0;
  const buyer = watch(condition.run(() => condition.waitFor(() => (calls++, stock >= 2 && `bought ${stock}`))));
  assert.equal(await states([buyer]), "pending");
  assert.equal(calls, 1);
  for (let i = 0; i < 2; i++) {
    await condition.run(() => {
      stock++;
      condition.notify();
    });
    await flushMicrotasks();
  }
  assert.equal(await buyer.promise, "bought 2");
  assert.equal(calls, 3);
  assert.equal(await condition.run(() => condition.waitFor(() => Promise.resolve(0 || "later"))), "later");
  const error = new Error("predicate failed");
  await rejectsWith(
    condition.run(() =>
      condition.waitFor(() => {
        throw error;
      })
    ),
    error,
  );
  assert.equal(condition.locked, false);
});

test("Condition: timeout bounds the whole waitFor, and the message names the whole time", () =>
  withFakeTime(async (time) => {
    const condition = new Condition();
    const buyer = watch(condition.run(() => condition.waitFor(() => false, { timeout: 100 })));
    for (let i = 0; i < 3; i++) {
      await flushMicrotasks();
      time.advance(30);
      await condition.run(() => condition.notifyAll());
    }
    assert.equal(await states([buyer]), "pending");
    time.advance(10);
    assert.equal(await states([buyer]), "rejected");
    assert.ok(buyer.reason instanceof TimeoutError);
    assert.equal(buyer.reason.message, "Cannot wait for condition: timed out after 100 ms");
    assert.equal(condition.locked, false);
    const controller = new AbortController();
    const own = new TimeoutError("Cannot wait any longer: the user left");
    const other = watch(condition.run(() => condition.waitFor(() => false, { signal: controller.signal, timeout: 5 })));
    await flushMicrotasks();
    controller.abort(own);
    await rejectsWith(other.promise, own);
  }));

test("Condition: the time of a waitFor runs while its predicate is awaited, and ends with the call", () =>
  withFakeTime(async (time) => {
    const condition = new Condition();
    let answer: (value: boolean) => void;
    const answered = new Promise<boolean>((resolve) => answer = resolve);
    const waiting = watch(condition.run(() => condition.waitFor(() => answered, { timeout: 100 })));
    await flushMicrotasks();
    time.advance(100);
    assert.equal(await states([waiting]), "pending");
    answer!(false);
    assert.equal(await states([waiting]), "rejected");
    assert.ok(waiting.reason instanceof TimeoutError);
    assert.deepEqual([condition.locked, condition.waiting], [false, 0]);
    assert.equal(await condition.run(() => condition.waitFor(() => "there", { timeout: 100 })), "there");
    assert.equal(time.timers, 0);
  }));

test("Condition: taking the lock back is bounded by nothing, not even by a TimeoutLock's time", () =>
  withFakeTime(async (time) => {
    const lock = new TimeoutLock(10);
    const condition = new Condition(lock);
    const guard = await lock.acquire();
    const waiting = watch(condition.wait({ timeout: 50 }));
    const holder = await lock.acquire();
    condition.notify();
    time.advance(10_000);
    assert.equal(await states([waiting]), "pending");
    holder.release();
    assert.equal(await states([waiting]), "fulfilled");
    guard.release();
  }));

test("Condition: releasing a guard during its wait ends the wait with NotHeldError", async () => {
  const condition = new Condition();
  const guard = await condition.acquire();
  const controller = new CountingController();
  const waiting = watch(condition.wait({ signal: controller.signal, timeout: 60_000 }));
  assert.equal(guard.held, false);
  guard.release();
  assert.equal(await states([waiting]), "rejected");
  assert.ok(waiting.reason instanceof NotHeldError);
  assert.equal(
    waiting.reason.message,
    "Cannot wait for condition: its guard was released meanwhile",
  );
  assert.deepEqual([condition.waiting, condition.locked, controller.listeners], [0, false, 0]);
  guard.release();
  const other = condition.tryAcquire()!;
  guard[Symbol.dispose]();
  assert.equal(other.held, true);
  other.release();
});

test("Condition: releasing a guard after its notification passes that on, and leaves the lock's queue", async () => {
  const lock = new Lock();
  const condition = new Condition(lock);
  const guard = await lock.acquire();
  const dropped = watch(condition.wait());
  const second = await lock.acquire();
  const other = watch(condition.wait().finally(() => second.release()));
  const holder = await lock.acquire();
  condition.notify();
  assert.deepEqual([condition.waiting, lock.waiting], [1, 1]);
  guard.release();
  assert.deepEqual([condition.waiting, lock.waiting], [0, 1]);
  holder.release();
  assert.equal(await states([dropped, other]), "rejected fulfilled");
  assert.ok(dropped.reason instanceof NotHeldError);
  assert.deepEqual([lock.locked, lock.waiting], [false, 0]);
});

test("Condition: releasing a guard after its wait was aborted ends it with NotHeldError, and wakes no waiter", async () => {
  const lock = new Lock();
  const condition = new Condition(lock);
  const controller = new AbortController();
  const guard = await lock.acquire();
  const dropped = watch(condition.wait({ signal: controller.signal }));
  const sleeping = await lock.acquire();
  const other = watch(condition.wait());
  const holder = await lock.acquire();
  controller.abort("left");
  assert.equal(lock.waiting, 1);
  guard.release();
  assert.equal(lock.waiting, 0);
  assert.equal(await states([dropped, other]), "rejected pending");
  assert.ok(notHeldMeanwhile(dropped.reason));
  assert.equal((dropped.reason as NotHeldError).cause, "left");
  condition.notify();
  holder.release();
  await other.promise;
  sleeping.release();
  assert.equal(lock.locked, false);
});

test("Condition: waitFor never calls its predicate or waits under a hold that is not its own", async () => {
  const condition = new Condition();
  const released = notHeldMeanwhile;
  // Released while the predicate is awaited, and by the predicate itself; another caller holds then.
  for (const where of ["awaited", "calls", "true"]) {
    const guard = await condition.acquire();
    const next = condition.acquire();
    let calls = 0;
    const waiting = condition.waitFor(() => {
      calls++;
      if (where !== "awaited") guard.release();
      return where === "awaited" ? nextTurn().then(() => false) : where === "true";
    });
    const refused = assert.rejects(waiting, released);
    if (where === "awaited") guard.release();
    await refused;
    const other = await next;
    assert.deepEqual([other.held, condition.locked, condition.waiting, calls], [true, true, 0, 1]);
    other.release();
  }
  // Released right after the wait has taken the lock back.
  const guard = await condition.acquire();
  let calls = 0;
  const waiting = condition.waitFor(() => (calls++, false));
  const notifier = await condition.acquire();
  condition.notify();
  notifier.release();
  guard.release();
  await assert.rejects(waiting, released);
  assert.deepEqual([condition.locked, calls], [false, 1]);
});

const notHeldMeanwhile = (error: unknown) =>
  error instanceof NotHeldError && /its guard was released/.test(error.message);

test("Condition: a signal that aborts within the predicate, before its listeners hear of it, keeps the lock", async () => {
  const signal = Object.assign(new EventTarget(), { aborted: false, reason: "gone" });
  const condition = new Condition();
  using _ = await condition.acquire();
  const newcomer = watch(condition.acquire());
  const predicate = () => {
    signal.aborted = true;
    return false;
  };
  const call = watch(condition.waitFor(predicate, { signal: signal as never }));
  assert.equal(await states([call, newcomer]), "rejected pending");
  assert.equal(call.reason, "gone");
});
