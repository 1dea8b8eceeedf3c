/** Limits that change: BoundedSemaphore, RateLimiter, and a writer that becomes a reader. */
import assert from "node:assert/strict";
import { observe } from "../lib/diagnostics/mod.ts";
import { BoundedSemaphore, RateLimiter, RwLock } from "../mod.ts";
import { test } from "./_test.ts";
import { states, watch, withFakeTime } from "./_tools.ts";

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

test("RwLock: downgrade releases the writer first, then grants readers, and spends the writer's guard", async () => {
  const lock = new RwLock({ name: "table" });
  const seen: string[] = [];
  using _ = observe({
    grant: ({ kind }) => void seen.push(`grant ${kind}`),
    release: ({ kind }) => void seen.push(`release ${kind}`),
  });
  const writer = await lock.writer.acquire();
  const waiting = [lock.reader, lock.reader, lock.writer].map((side) => watch(side.acquire()));
  const reader = writer.downgrade();
  assert.deepEqual([writer.held, reader.held, lock.writer.locked, lock.reader.locked], [false, true, false, true]);
  assert.equal(await states(waiting), "fulfilled fulfilled pending");
  assert.deepEqual(seen, ["grant writer", "release writer", "grant reader", "grant reader", "grant reader"]);
  writer.release(); // spent
  assert.equal(lock.reader.locked, true);
  const error = /^NotHeldError: Cannot downgrade writer side "table": it is not held$/;
  assert.throws(() => writer.downgrade(), error);
});

test("RwLock: only a writer's guard can be downgraded, not the writer side", () => {
  const { writer } = new RwLock() as unknown as { writer: { downgrade(): void } };
  assert.throws(() => writer.downgrade(), /^TypeError: writer\.downgrade is not a function/);
});
