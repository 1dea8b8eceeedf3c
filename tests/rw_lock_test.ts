/** RwLock: many readers xor one writer, in one line. */
import assert from "node:assert/strict";
import { RwLock } from "../mod.ts";
import { test } from "./_test.ts";
import { CountingController, states, watch, withFakeTime } from "./_tools.ts";

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
