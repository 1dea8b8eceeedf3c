/** Barrier: asyncio's meaning, and indices that stay complete when a party is cancelled. */
import assert from "node:assert/strict";
import { Barrier, BrokenBarrierError, TimeoutError } from "../mod.ts";
import { test } from "./_test.ts";
import { CountingController, states, watch, withFakeTime } from "./_tools.ts";

const indices = async (promises: Promise<number>[]) => (await Promise.all(promises)).toSorted((a, b) => a - b);

test("Barrier: releases all when the last party has arrived, and can be used again at once", async () => {
  const barrier = new Barrier(3);
  for (let round = 0; round < 3; round++) {
    const early = [barrier.wait(), barrier.wait()];
    assert.deepEqual([barrier.waiting, barrier.parties, barrier.broken], [2, 3, false]);
    const last = barrier.wait();
    assert.equal(barrier.waiting, 0);
    const next = watch(barrier.wait()); // belongs to the next round
    assert.deepEqual(await indices([...early, last]), [0, 1, 2]);
    assert.equal(await last, 2);
    assert.equal(await states([next]), "pending");
    await Promise.all([barrier.wait(), barrier.wait(), next.promise]);
  }
  assert.equal(await new Barrier(1).wait({ timeout: 0 }), 0);
});

test("Barrier: a cancelled party does not break it, and the indices are still complete", () =>
  withFakeTime(async (time) => {
    const barrier = new Barrier(3);
    const middle = new CountingController();
    const first = barrier.wait();
    const aborted = watch(barrier.wait({ signal: middle.signal }));
    middle.abort("no");
    assert.deepEqual([barrier.waiting, barrier.broken, middle.listeners], [1, false, 0]);
    const impatient = watch(barrier.wait({ timeout: 10 }));
    time.advance(10);
    assert.equal(await states([aborted, impatient]), "rejected rejected");
    assert.equal((impatient.reason as Error).message, "Cannot wait at barrier: timed out after 10 ms");
    assert.deepEqual(await indices([first, barrier.wait(), barrier.wait()]), [0, 1, 2]);
  }));

test("Barrier: an abort that comes after the last party changes nothing", async () => {
  const barrier = new Barrier(2);
  const controller = new CountingController();
  const first = barrier.wait({ signal: controller.signal });
  const last = barrier.wait();
  controller.abort();
  assert.deepEqual(await Promise.all([first, last]), [0, 1]);
});

test("Barrier: a cancelled party does not count, also before its own listener is notified", async () => {
  const barrier = new Barrier(3);
  const controller = new AbortController();
  let last: Promise<number> | undefined;
  // This listener was there first: the last party arrives when the signal is aborted but has notified no other listener.
  controller.signal.addEventListener("abort", () => last = barrier.wait());
  const aborted = watch(barrier.wait({ signal: controller.signal }));
  const other = watch(barrier.wait());
  controller.abort();
  assert.equal(await states([aborted, other, watch(last!)]), "rejected pending pending");
  assert.deepEqual([await barrier.wait(), await last, barrier.waiting], [2, 1, 0]);
});

test("Barrier: timeout 0 passes only for the last party", async () => {
  const barrier = new Barrier(2);
  await assert.rejects(barrier.wait({ timeout: 0 }), TimeoutError);
  const first = barrier.wait();
  assert.equal(await barrier.wait({ timeout: 0 }), 1);
  assert.equal(await first, 0);
});

test("Barrier: reset rejects all waiting parties and starts anew", async () => {
  const barrier = new Barrier(2);
  const waiter = watch(barrier.wait({ timeout: 60_000 }));
  barrier.reset();
  assert.equal(await states([waiter]), "rejected");
  assert.ok(waiter.reason instanceof BrokenBarrierError);
  assert.equal(waiter.reason.message, "Cannot wait at barrier: barrier was reset");
  assert.equal(barrier.broken, false);
  assert.deepEqual(await indices([barrier.wait(), barrier.wait()]), [0, 1]);
  barrier.reset();
});

test("Barrier: abort breaks it until it is reset", async () => {
  const barrier = new Barrier(2);
  const waiter = watch(barrier.wait());
  barrier.abort();
  assert.equal(await states([waiter]), "rejected");
  assert.ok(waiter.reason instanceof BrokenBarrierError);
  assert.deepEqual([barrier.broken, barrier.waiting], [true, 0]);
  await assert.rejects(barrier.wait(), BrokenBarrierError);
  // Bad arguments first, then the state, then the signal.
  await assert.rejects(barrier.wait({ timeout: NaN }), RangeError);
  for (const options of [{ signal: AbortSignal.abort() }, { timeout: 0 }]) {
    await assert.rejects(barrier.wait(options), BrokenBarrierError);
  }
  barrier.abort();
  barrier.reset();
  assert.deepEqual(await indices([barrier.wait(), barrier.wait()]), [0, 1]);
});

test("Barrier: wrong arguments", () => {
  for (const parties of [0, -1, 1.5, NaN, Infinity]) assert.throws(() => new Barrier(parties), RangeError);
  for (const parties of [undefined, "2", null]) assert.throws(() => new Barrier(parties as never), TypeError);
});
