/** Cancellation at scale and with odd signals: one listener a signal, a timer for each time, nothing left behind. */
import assert from "node:assert/strict";
import { Event, Lock, TimeoutError } from "../../mod.ts";
import { test } from "../_test.ts";
import { type CancelOutcome, onCancel, pause } from "../../lib/internal/cancellation.ts";
import { CountingController, rejectsWith, states, watch, withFakeTime } from "../_tools.ts";

const MANY = 2_000;

/** Rejections in the order in which they happened. */
function collect(promises: Promise<unknown>[]): { reasons: unknown[]; all: Promise<unknown> } {
  const reasons: unknown[] = [];
  return { reasons, all: Promise.all(promises.map((promise) => promise.catch((reason) => reasons.push(reason)))) };
}

test("cancellation: 2,000 waiters with one time-out leave nothing", () =>
  withFakeTime(async (time) => {
    const lock = new Lock();
    const guard = await lock.acquire();
    const { reasons, all } = collect(Array.from({ length: MANY }, () => lock.acquire({ timeout: 50 })));
    assert.deepEqual([lock.waiting, time.timers], [MANY, MANY]);
    time.advance(50);
    assert.deepEqual([lock.waiting, time.timers], [0, 0]);
    await all;
    assert.ok(reasons.every((one) => one instanceof TimeoutError));
    assert.equal(new Set(reasons).size, MANY, "fresh instances");
    guard.release();
  }));

test("cancellation: 2,000 waiters with different time-outs end in the order of their deadlines", () =>
  withFakeTime(async (time) => {
    const event = new Event();
    const ended: number[] = [];
    // Multiplying by a unit modulo a prime draws every delay once, in an order that looks random.
    const delays = Array.from({ length: MANY }, (_, i) => 1 + (i * 7919) % 2_003);
    const all = delays.map((timeout) => event.wait({ timeout }).catch(() => ended.push(timeout)));
    time.advance(1000);
    assert.equal(event.waiting, delays.filter((delay) => delay > 1000).length);
    time.advance(1500);
    assert.deepEqual([event.waiting, time.timers], [0, 0]);
    await Promise.all(all);
    assert.deepEqual(ended, delays.toSorted((a, b) => a - b));
  }));

test("cancellation: equal deadlines end in the order of arrival", () =>
  withFakeTime(async (time) => {
    const event = new Event();
    const ended: number[] = [];
    const lock = new Lock();
    const guard = await lock.acquire();
    const granted = lock.acquire({ timeout: 10 }).then((next) => next.release());
    const all = Array.from({ length: 100 }, (_, i) => event.wait({ timeout: 50 }).catch(() => ended.push(i)));
    guard.release();
    await granted;
    time.advance(50);
    await Promise.all(all);
    assert.deepEqual(ended, Array.from({ length: 100 }, (_, i) => i));
  }));

test("cancellation: fractions of a millisecond are not cut off", () =>
  withFakeTime(async (time) => {
    const event = new Event();
    const waiter = watch(event.wait({ timeout: 0.2 }));
    time.advance(0.5);
    assert.equal(await states([waiter]), "pending");
    time.advance(0.5);
    assert.equal(await states([waiter]), "rejected");
    assert.equal((waiter.reason as Error).message, "Cannot wait for event: timed out after 0.2 ms");
  }));

test("cancellation: an abort event that was dispatched by hand ends nothing", async () => {
  const lock = new Lock();
  const guard = await lock.acquire();
  const controller = new AbortController();
  const waiter = watch(lock.acquire({ signal: controller.signal }));
  controller.signal.dispatchEvent(new globalThis.Event("abort"));
  assert.equal(await states([waiter]), "pending");
  controller.abort("really");
  await rejectsWith(waiter.promise, "really");
  guard.release();
});

/** A foreign signal with these members. */
function oddSignal(members: object): AbortSignal {
  return Object.defineProperties(
    { aborted: false, addEventListener() {}, removeEventListener() {} },
    Object.getOwnPropertyDescriptors(members),
  ) as never;
}

test("cancellation: a signal that refuses its listener, or throws when it is asked, leaves nothing behind", async () => {
  const error = new Error("odd");
  const fail = () => {
    throw error;
  };
  const lock = new Lock();
  const guard = await lock.acquire();
  await rejectsWith(lock.acquire({ signal: oddSignal({ addEventListener: fail }), timeout: 1 }), error);
  await rejectsWith(
    lock.acquire({
      signal: oddSignal({
        get aborted() {
          return fail();
        },
      }),
    }),
    error,
  ); // deno-fmt-ignore
  assert.equal(lock.waiting, 0);
  guard.release();
  assert.equal(lock.locked, false);
});

test("cancellation: waits of one time end in order, at their own moments, also when those before them have gone", async () => {
  const event = new Event();
  const ended: number[] = [];
  const wait = (id: number, timeout: number, signal?: AbortSignal) =>
    event.wait({ timeout, signal }).catch(() => ended.push(id));
  const controllers = [0, 1, 2].map(() => new AbortController());
  const all = controllers.map(({ signal }, id) => wait(id, 20, signal));
  all.push(wait(3, 5));
  controllers[0]!.abort(); // the timer was set for it
  controllers[1]!.abort();
  await all[3];
  all.push(wait(4, 20)); // it begins later than the others
  await Promise.all(all);
  assert.deepEqual(ended.filter((id) => id !== 3), [0, 1, 2, 4]); // a busy machine may have begun 3 late
  await wait(5, 20); // and again, once none was left
  assert.equal(ended.at(-1), 5);
});

test("onCancel: calls once, for the signal or the time, unless it was ended", () =>
  withFakeTime((time) => {
    const controller = new CountingController();
    const { signal } = controller;
    const outcomes: CancelOutcome[] = [];
    const note = (outcome: CancelOutcome) => void outcomes.push(outcome);
    onCancel({ signal, timeout: 10 }, note);
    onCancel({ signal, timeout: 15 }, note).end();
    const byBoth = onCancel({ signal, timeout: 30 }, note);
    time.advance(20);
    assert.deepEqual(outcomes, ["timeout"]);
    controller.abort();
    time.advance(10);
    byBoth.end();
    assert.deepEqual(outcomes, ["timeout", "aborted"]);
    assert.equal(controller.listeners, 0);
    return Promise.resolve();
  }));

test("onCancel: what one call ends is not called any more", () =>
  withFakeTime((time) => {
    const called: number[] = [];
    onCancel({ timeout: 10 }, () => {
      called.push(1);
      third.end();
    });
    onCancel({ timeout: 10 }, () => called.push(2));
    const third = onCancel({ timeout: 20 }, () => called.push(3));
    time.advance(20);
    assert.deepEqual(called, [1, 2]);
    return Promise.resolve();
  }));

test("pause: ends with its time or its signal, and keeps the process alive, as not every time-out does", () =>
  withFakeTime(async (time) => {
    const controller = new CountingController();
    const unreferenced = new Promise<void>((resolve) => onCancel({ timeout: 30, keepsAlive: false }, () => resolve()));
    const pauses = [pause(10), pause(20, controller.signal), unreferenced].map((one) => watch(one));
    assert.deepEqual([time.timers, time.unreferenced], [3, 1]);
    time.advance(10);
    assert.equal(await states(pauses), "fulfilled pending pending");
    controller.abort();
    assert.equal(await states(pauses), "fulfilled fulfilled pending");
    assert.equal(controller.listeners, 0);
    time.advance(20);
    assert.equal(
      await states([...pauses, watch(pause(5, controller.signal))]),
      "fulfilled fulfilled fulfilled fulfilled",
    );
  }));

test("cancellation: on Workers a signal throws when another request looks at it: the hand-off goes on", async () => {
  const lock = new Lock();
  const guard = await lock.acquire();
  const foreign = new AbortController().signal;
  const waiting = [undefined, foreign, undefined].map((signal) => lock.acquire(signal && { signal }));
  const refuse = () => {
    throw new Error("Cannot perform I/O on behalf of a different request");
  };
  Object.defineProperties(foreign, { aborted: { get: refuse }, removeEventListener: { value: refuse } });
  guard.release();
  for (const next of waiting) (await next).release();
  assert.equal(lock.locked, false);
});
