/** KeyedMutex: one queue for each key, and no entry for a key that is free. */
import assert from "node:assert/strict";
import { KeyedMutex, TimeoutError } from "../mod.ts";
import { test } from "./_test.ts";
import { CountingController, flushMicrotasks, rejectsWith, states, watch, withFakeTime } from "./_tools.ts";

test("KeyedMutex: orders of one user take turns, other users do not wait", async () => {
  const users = new KeyedMutex<number>();
  const log: string[] = [];
  const order = (user: number, id: number) =>
    users.run(user, async () => {
      log.push(`+${id}`);
      await flushMicrotasks();
      log.push(`-${id}`);
    });
  await Promise.all([order(1, 101), order(1, 102), order(2, 201), order(2, 202)]);
  assert.deepEqual(log, ["+101", "+201", "-101", "-201", "+102", "+202", "-102", "-202"]);
  assert.equal(users.size, 0);
});

test("KeyedMutex: locked and waiting report the state of each key", async () => {
  const keys = new KeyedMutex<string>();
  const guard = await keys.acquire("a");
  const next = keys.acquire("a");
  assert.deepEqual([keys.locked("a"), keys.waiting("a"), keys.size], [true, 1, 1]);
  assert.deepEqual([keys.locked("b"), keys.waiting("b")], [false, 0]);
  assert.equal(keys.tryAcquire("a"), undefined);
  keys.tryAcquire("b")!.release();
  guard.release();
  assert.deepEqual([keys.locked("a"), keys.waiting("a"), keys.size], [true, 0, 1]);
  (await next).release();
  assert.deepEqual([keys.locked("a"), keys.size], [false, 0]);
});

test("KeyedMutex: keys are compared as in a Map", async () => {
  const keys = new KeyedMutex<unknown>();
  const object = {}, symbol = Symbol("key");
  const all = [NaN, object, symbol, null, 0, "0", "", 10n, {}, Symbol("key")];
  const guards = await Promise.all(all.map((key) => keys.acquire(key, { timeout: 0 })));
  assert.equal(keys.size, all.length);
  for (const key of [...all, -0]) assert.equal(keys.tryAcquire(key), undefined);
  for (const key of all) {
    await assert.rejects(
      keys.acquire(key, { timeout: 0 }),
      (error: Error) =>
        error instanceof TimeoutError && /^Cannot acquire lock for key .+: timed out after 0 ms$/.test(error.message),
    );
  }
  guards.forEach((guard) => guard.release());
  assert.equal(keys.size, 0);
});

test("KeyedMutex: nothing is left after any mixture of success, error, abort and time-out", () =>
  withFakeTime(async (time) => {
    const keys = new KeyedMutex<unknown>();
    const shared = new CountingController();
    for (const key of [NaN, {}, Symbol(), "text"]) {
      const guard = await keys.acquire(key);
      const waiters = [
        keys.run(key, () => "done"),
        keys.run(key, () => Promise.reject(new Error("work failed"))),
        keys.acquire(key, { signal: shared.signal }),
        keys.acquire(key, { timeout: 10 }),
        keys.run(key, () => assert.fail("called"), { timeout: 10 }),
        keys.run(key, () => "last"),
      ].map((promise) => watch<unknown>(promise));
      await rejectsWith(keys.acquire(key, { signal: AbortSignal.abort("no") }), "no");
      time.advance(10);
      shared.abort();
      assert.equal(keys.waiting(key), 3);
      guard.release();
      assert.equal(await states(waiters), "fulfilled rejected rejected rejected rejected fulfilled");
      assert.equal(keys.size, 0);
    }
    assert.equal(shared.listeners, 0);
  }));

test("KeyedMutex: the last waiter is cancelled while the key is held, and the entry still goes with the holder", async () => {
  const keys = new KeyedMutex<string>();
  const guard = await keys.acquire("a");
  const controller = new AbortController();
  const waiter = watch(keys.acquire("a", { signal: controller.signal }));
  controller.abort();
  assert.equal(await states([waiter]), "rejected");
  assert.equal(keys.size, 1);
  guard.release();
  assert.equal(keys.size, 0);
  // A stale guard must not touch the entry that came after.
  const other = await keys.acquire("a");
  guard.release();
  assert.equal(keys.tryAcquire("a"), undefined);
  other.release();
});
