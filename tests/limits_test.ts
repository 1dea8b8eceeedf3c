/** Limits that change: BoundedSemaphore, RateLimiter, and a writer that becomes a reader. */
import assert from "node:assert/strict";
import { observe } from "../lib/diagnostics/mod.ts";
import { BoundedSemaphore, NotHeldError, RateLimiter, RwLock } from "../mod.ts";
import { test } from "./_test.ts";
import { flushMicrotasks, states, watch, withFakeTime } from "./_tools.ts";

test("BoundedSemaphore.limit: lowered, it revokes nothing; value is 0 until enough have left", async () => {
  const seats = new BoundedSemaphore(3);
  const guards = [await seats.acquire(), await seats.acquire(), await seats.acquire()];
  const waits = watch(seats.acquire({ permits: 2 }));
  seats.limit = 1;
  assert.deepEqual([seats.value, seats.locked, guards.every(({ held }) => held)], [0, true, true]);
  await assert.rejects(seats.acquire({ permits: 2 }), RangeError);
  assert.throws(() => seats.tryAcquire(2), RangeError);
  seats.release(); // something is taken
  guards[0]!.release();
  assert.deepEqual([seats.value, seats.waiting], [0, 1]);
  guards[1]!.release();
  assert.deepEqual([seats.value, await states([waits])], [1, "pending"]); // it wants more than there are: it waits on
  assert.throws(() => seats.release(), RangeError);
  seats.limit = 2;
  assert.equal(await states([waits]), "fulfilled");
});

test("BoundedSemaphore.limit: 0 pauses, and requests wait", async () => {
  const seats = new BoundedSemaphore(2);
  seats.limit = 0;
  const watched = [watch(seats.acquire()), watch(seats.acquire({ permits: 2 }))];
  assert.equal(seats.tryAcquire(), undefined);
  assert.equal(await states(watched), "pending pending");
  seats.limit = 3;
  assert.equal(await states(watched), "fulfilled fulfilled");
  for (const wrong of [-1, 0.5, NaN, Infinity]) assert.throws(() => seats.limit = wrong, RangeError);
  assert.throws(() => seats.limit = "1" as never, TypeError);
  assert.equal(seats.limit, 3);
});

test("RateLimiter: a waiter that wants more than a lowered limit waits on", () =>
  withFakeTime(async (time) => {
    const api = new RateLimiter(3, 100);
    api.tryAcquire(3);
    const watched = [3, 1, 1].map((permits) => watch(api.acquire({ permits })));
    api.limit = 2;
    await time.pass(500);
    assert.equal(await states(watched), "pending pending pending");
    assert.equal(api.retryAfter(), Infinity);
    api.limit = 3;
    assert.equal(await states(watched), "fulfilled pending pending");
    await time.pass(100);
    assert.equal(await states(watched), "fulfilled fulfilled fulfilled");
  }));

test("RwLock: downgrade lets in the readers before the next writer, and no writer in between", async () => {
  const lock = new RwLock({ name: "table" });
  const seen: string[] = [];
  using _ = observe({
    grant: ({ kind }) => void seen.push(`grant ${kind}`),
    release: ({ kind }) => void seen.push(`release ${kind}`),
  });
  const writer = await lock.writer.acquire();
  const [first, second, next, late] = [
    watch(lock.reader.acquire()),
    watch(lock.reader.acquire()),
    watch(lock.writer.acquire()),
    watch(lock.reader.acquire()),
  ];
  const reader = writer.downgrade();
  assert.deepEqual([writer.held, reader.held, lock.writer.locked, lock.reader.locked], [false, true, false, true]);
  assert.equal(await states([first, second, next, late]), "fulfilled fulfilled pending pending");
  writer.release(); // spent
  assert.equal(lock.reader.locked, true);
  assert.throws(() => writer.downgrade(), NotHeldError);
  first.value!.release();
  second.value!.release();
  assert.equal(await states([next, late]), "pending pending");
  reader.release();
  assert.equal(await states([next, late]), "fulfilled pending");
  next.value!.downgrade().release();
  assert.equal(await states([late]), "fulfilled");
  late.value!.release();
  assert.deepEqual([lock.reader.locked, lock.writer.locked], [false, false]);
  assert.deepEqual(seen.slice(0, 5), [
    "grant writer",
    "release writer",
    "grant reader",
    "grant reader",
    "grant reader",
  ]);
  const error = /^NotHeldError: Cannot downgrade writer side "table": it is not held$/;
  const spent = lock.writer.tryAcquire()!;
  spent.release();
  assert.throws(() => spent.downgrade(), error);
  await flushMicrotasks();
});

test("RwLock: only a writer's guard can be downgraded, not the writer side", () => {
  const { writer } = new RwLock() as unknown as { writer: { downgrade(): void } };
  assert.throws(() => writer.downgrade(), /^TypeError: writer\.downgrade is not a function/);
});
