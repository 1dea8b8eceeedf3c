/** Semaphore and BoundedSemaphore beyond the contract suite: permits, weights, release by hand. */
import assert from "node:assert/strict";
import { BoundedSemaphore, type Guard, Semaphore, TimeoutError } from "../mod.ts";
import { assertSoundSemaphore } from "./sound/semaphore.ts";
import { test } from "./_test.ts";
import { rejectsWith, states, watch } from "./_tools.ts";

test("Semaphore: it is locked while a call would have to wait", async () => {
  assert.deepEqual([new Semaphore().locked, new Semaphore(0).locked], [false, true]);
  const semaphore = new Semaphore(2);
  const guard = await semaphore.acquire();
  assert.equal(semaphore.locked, false);
  const large = semaphore.acquire({ permits: 2 });
  assert.deepEqual([semaphore.value, semaphore.locked], [1, true], "one is free, but there is a queue");
  guard.release();
  (await large).release();
});

test("Semaphore: release by hand adds permits and grants to all that fit", async () => {
  const semaphore = new Semaphore(0);
  const waiters = [semaphore.acquire(), semaphore.acquire({ permits: 2 }), semaphore.acquire()].map(watch);
  semaphore.release();
  assert.equal(await states(waiters), "fulfilled pending pending");
  semaphore.release(3);
  assert.equal(await states(waiters), "fulfilled fulfilled fulfilled");
  assert.equal(semaphore.value, 0);
  waiters[1]!.value!.release();
  assert.equal(semaphore.value, 2);
});

test("Semaphore: the guard knows nothing of a release by hand", async () => {
  const semaphore = new Semaphore(1);
  const guard = await semaphore.acquire();
  semaphore.release();
  assert.equal(guard.held, true);
  guard.release();
  guard.release();
  assert.equal(semaphore.value, 2);
});

test("Semaphore: run takes permits, too", async () => {
  const semaphore = new Semaphore(5);
  await semaphore.run(() => assert.equal(semaphore.value, 1), { permits: 4 });
  assert.equal(semaphore.value, 5);
});

const wrongPermits: readonly [unknown, typeof RangeError | typeof TypeError][] = [
  [0, RangeError],
  [-1, RangeError],
  [1.5, RangeError],
  [NaN, RangeError],
  [Infinity, RangeError],
  [2 ** 53, RangeError],
  ["1", TypeError],
  [null, TypeError],
  [1n, TypeError],
];

test("Semaphore: wrong numbers are refused before anything happens", async () => {
  const semaphore = new Semaphore(1);
  for (const [permits, type] of wrongPermits) {
    await assert.rejects(semaphore.acquire({ permits } as never), type);
    await assert.rejects(semaphore.run(() => assert.fail("called"), { permits } as never), type);
    assert.throws(() => semaphore.tryAcquire(permits as never), type);
    assert.throws(() => semaphore.release(permits as never), type);
    if (permits !== 0) assert.throws(() => new Semaphore(permits as never), type);
    assert.throws(() => new BoundedSemaphore(permits as never), type);
  }
  assert.deepEqual([semaphore.value, semaphore.waiting], [1, 0]);
  const aborted = AbortSignal.abort();
  await assert.rejects(semaphore.acquire({ permits: 0, signal: aborted }), RangeError);
  await rejectsWith(semaphore.acquire({ permits: 1, signal: aborted }), aborted.reason);
});

test("Semaphore: there is an end to counting", () => {
  const semaphore = new Semaphore(Number.MAX_SAFE_INTEGER);
  assert.throws(() => semaphore.release(), RangeError);
  assert.equal(semaphore.value, Number.MAX_SAFE_INTEGER);
});

test("BoundedSemaphore: over-release is an error and changes nothing", async () => {
  const seats = new BoundedSemaphore(2);
  assert.ok(seats instanceof Semaphore);
  assert.throws(() => seats.release(), RangeError);
  const guard = await seats.acquire();
  assert.throws(() => seats.release(2), RangeError);
  assert.equal(seats.value, 1);
  seats.release();
  assert.throws(() => guard.release(), RangeError); // its permit was given back already
  assert.equal(guard.held, false);
  guard.release();
  assert.equal(seats.value, 2);
});

test("BoundedSemaphore: asking for more than there can ever be is an error, not a wait without end", async () => {
  const seats = new BoundedSemaphore(2);
  await assert.rejects(seats.acquire({ permits: 3 }), /permits must be a whole number from 1 to 2, got 3/);
  assert.throws(() => seats.tryAcquire(3), RangeError);
  await assert.rejects(seats.acquire({ permits: 3, timeout: 5 }), RangeError);
  assert.equal(seats.waiting, 0);
  const plain = new Semaphore(2);
  await assert.rejects(plain.acquire({ permits: 3, timeout: 0 }), TimeoutError);
  const waiter = watch(plain.acquire({ permits: 3 }));
  plain.release();
  assert.equal(await states([waiter]), "fulfilled");
});

test("Semaphore: options that throw when they are read are a rejection", async () => {
  const options = {
    get permits(): number {
      throw new Error("boom");
    },
  };
  const semaphore = new Semaphore(1);
  await assert.rejects(semaphore.acquire(options), /boom/);
  assert.equal(semaphore.value, 1);
});

test("Semaphore: a call whose signal refuses the listener lets the one behind it go", async () => {
  const semaphore = new BoundedSemaphore(2);
  using _first = await semaphore.acquire();
  let behind: Promise<Guard> | undefined;
  const signal = {
    aborted: false,
    addEventListener() {
      behind = semaphore.acquire();
      throw new Error("no listeners");
    },
    removeEventListener() {},
  } as unknown as AbortSignal;
  await assert.rejects(semaphore.acquire({ permits: 2, signal }), /no listeners/);
  assertSoundSemaphore(semaphore);
  (await behind!).release();
});
