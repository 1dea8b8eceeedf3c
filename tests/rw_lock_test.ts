/** RwLock: many readers xor one writer, in one line. */
import assert from "node:assert/strict";
import { type Guard, RwLock } from "../mod.ts";
import { test } from "./_test.ts";
import { CountingController, refusesBadOptions, states, watch, withFakeTime } from "./_tools.ts";

test("RwLock: readers share, a writer is alone, and both sides report it", async () => {
  const lock = new RwLock();
  assert.deepEqual([lock.reader.locked, lock.writer.locked], [false, false]);
  const readers = [await lock.reader.acquire(), lock.reader.tryAcquire()!];
  assert.deepEqual([lock.reader.locked, lock.writer.locked], [true, false]);
  assert.equal(lock.writer.tryAcquire(), undefined);
  const writer = watch(lock.writer.acquire());
  assert.deepEqual([lock.reader.waiting, lock.writer.waiting], [0, 1]);
  readers[0]!.release();
  assert.equal(await states([writer]), "pending");
  readers[1]!.release();
  assert.equal(await states([writer]), "fulfilled");
  assert.deepEqual([lock.reader.locked, lock.writer.locked], [false, true]);
  assert.equal(lock.reader.tryAcquire(), undefined);
  assert.equal(lock.writer.tryAcquire(), undefined);
  writer.value!.release();
  assert.deepEqual([lock.reader.locked, lock.writer.locked], [false, false]);
});

test("RwLock: one queue for both sides; neighbouring readers are granted together", async () => {
  const lock = new RwLock();
  const first = await lock.reader.acquire();
  const line = [
    lock.writer.acquire(),
    lock.reader.acquire(),
    lock.reader.acquire(),
    lock.writer.acquire(),
    lock.reader.acquire(),
  ].map(watch);
  assert.equal(lock.reader.tryAcquire(), undefined, "a newcomer does not overtake the writer");
  assert.deepEqual([lock.reader.waiting, lock.writer.waiting], [3, 2]);
  first.release();
  assert.equal(await states(line), "fulfilled pending pending pending pending");
  line[0]!.value!.release();
  assert.equal(await states(line), "fulfilled fulfilled fulfilled pending pending");
  line[2]!.value!.release();
  line[1]!.value!.release();
  assert.equal(await states(line), "fulfilled fulfilled fulfilled fulfilled pending");
  line[3]!.value!.release();
  assert.equal(await states(line), "fulfilled fulfilled fulfilled fulfilled fulfilled");
  line[4]!.value!.release();
  assert.deepEqual([lock.reader.locked, lock.writer.locked], [false, false]);
});

test("RwLock: when a writer is cancelled, the readers behind it join the present ones", () =>
  withFakeTime(async (time) => {
    for (const how of ["abort", "timeout"]) {
      const lock = new RwLock();
      const first = await lock.reader.acquire();
      const controller = new CountingController();
      const line = [
        lock.writer.acquire({ signal: controller.signal, timeout: 10 }),
        lock.reader.acquire(),
        lock.reader.acquire(),
        lock.writer.acquire(),
      ].map(watch);
      if (how === "abort") controller.abort();
      else time.advance(10);
      assert.equal(await states(line), "rejected fulfilled fulfilled pending", how);
      assert.deepEqual([lock.reader.waiting, lock.writer.waiting], [0, 1]);
      for (const guard of [first, line[1]!.value!, line[2]!.value!]) guard.release();
      assert.equal(await states(line), "rejected fulfilled fulfilled fulfilled", how);
      line[3]!.value!.release();
    }
  }));

test("RwLock: guards are spent once, on both sides", async () => {
  const lock = new RwLock();
  const readers: Guard[] = [await lock.reader.acquire(), await lock.reader.acquire()];
  readers[0]!.release();
  readers[0]!.release();
  assert.equal(lock.writer.tryAcquire(), undefined, "the other reader still reads");
  readers[1]!.release();
  const writer = lock.writer.tryAcquire()!;
  readers[1]!.release();
  assert.equal(writer.held, true);
  writer.release();
});

test("RwLock: the reader side refuses wrong options, too", async () => {
  const lock = new RwLock();
  await refusesBadOptions((options) => lock.reader.acquire(options));
  await refusesBadOptions((options) => lock.reader.run(() => assert.fail("called"), options));
  const reason = new Error("enough");
  await assert.rejects(lock.reader.acquire({ signal: AbortSignal.abort(reason) }), reason);
  assert.equal(lock.writer.tryAcquire()!.held, true);
});

test("RwLock: waiting counts each side, whichever way waiters leave", () =>
  withFakeTime(async (time) => {
    const { reader, writer } = new RwLock();
    const counts = () => [reader.waiting, writer.waiting];
    const guard = await writer.acquire();
    const controller = new CountingController();
    const waiters = [reader, writer, reader, writer, reader].map((side, i) =>
      watch(side.acquire(i === 1 ? { signal: controller.signal } : i === 2 ? { timeout: 10 } : undefined))
    );
    assert.deepEqual(counts(), [3, 2]);
    controller.abort();
    assert.deepEqual(counts(), [3, 1]);
    time.advance(10);
    assert.deepEqual(counts(), [2, 1]);
    guard.release();
    assert.deepEqual(counts(), [1, 1]);
    (await waiters[0]!.promise).release();
    assert.deepEqual(counts(), [1, 0]);
    (await waiters[3]!.promise).release();
    assert.deepEqual(counts(), [0, 0]);
    (await waiters[4]!.promise).release();
  }));
