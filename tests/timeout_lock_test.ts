/** TimeoutLock: its own time, other times, and no wake-up that is lost on the way. */
import assert from "node:assert/strict";
import { Lock, TimeoutError, TimeoutLock } from "../mod.ts";
import { test } from "./_test.ts";
import { states, watch, withFakeTime } from "./_tools.ts";

test("TimeoutLock: it is a Lock", () => {
  assert.ok(new TimeoutLock(1) instanceof Lock);
});

test("TimeoutLock: times out after its own time, or after that of the call", () =>
  withFakeTime(async (time) => {
    const lock = new TimeoutLock(50);
    const guard = lock.tryAcquire()!;
    const waiters = [
      lock.acquire(),
      lock.acquire({ timeout: 20 }),
      lock.acquire({ timeout: undefined }),
      lock.acquire({ timeout: Infinity }),
      lock.run(() => {}),
      lock.acquire({ signal: new AbortController().signal }),
    ].map((promise) => watch<unknown>(promise));
    time.advance(20);
    assert.equal(await states(waiters), "pending rejected pending pending pending pending");
    time.advance(29);
    assert.equal(await states(waiters), "pending rejected pending pending pending pending");
    time.advance(1);
    assert.equal(await states(waiters), "rejected rejected rejected pending rejected rejected");
    assert.ok(waiters[0]!.reason instanceof TimeoutError);
    assert.equal((waiters[0]!.reason as Error).message, "Cannot acquire lock: timed out after 50 ms");
    guard.release();
    assert.equal(await states(waiters.slice(3, 4)), "fulfilled");
    lock.release();
  }));

test("TimeoutLock: a holder never expires", () =>
  withFakeTime(async (time) => {
    const lock = new TimeoutLock(10);
    const guard = await lock.acquire();
    time.advance(1_000_000);
    assert.equal(guard.held, true);
    guard.release();
  }));

test("TimeoutLock: wrong times", async () => {
  for (const timeout of [undefined, null, "5", 5n, {}]) {
    assert.throws(() => new TimeoutLock(timeout as never), TypeError);
  }
  for (const timeout of [NaN, -1, -Infinity]) assert.throws(() => new TimeoutLock(timeout), RangeError);
  const patient = new TimeoutLock(Infinity);
  patient.tryAcquire();
  const impatient = new TimeoutLock(0);
  (await impatient.acquire()).release();
  impatient.tryAcquire();
  await assert.rejects(impatient.acquire(), TimeoutError);
});
