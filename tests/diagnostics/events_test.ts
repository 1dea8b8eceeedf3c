/** Every event of every local kind, in order. */
import assert from "node:assert/strict";
import {
  type Acquirable,
  Barrier,
  BoundedSemaphore,
  Condition,
  type Guard,
  KeyedMutex,
  KeyedRateLimiter,
  KeyedSemaphore,
  Lock,
  Pool,
  QueueFullError,
  RateLimiter,
  RwLock,
  Semaphore,
  TimeoutLock,
} from "../../mod.ts";
import { observe } from "../../lib/diagnostics/mod.ts";
import { test } from "../_test.ts";
import { flushMicrotasks, watch } from "../_tools.ts";
import { Ledger } from "./_ledger.ts";
import { Recording } from "./_tools.ts";

const name = "orders";

/** By kind, name and key; the events of a wait and a hold are those of tests/contract_suite.ts. */
const labels: Record<string, Acquirable<Guard>[]> = {
  "lock orders": [new Lock({ name }), new TimeoutLock(60_000, { name }), new Condition(new Lock({ name }))],
  "semaphore orders": [new Semaphore(1, { name }), new BoundedSemaphore(1, { name })],
  "reader orders": [new RwLock({ name }).reader],
  "writer orders": [new RwLock({ name }).writer],
  "key orders 42": [new KeyedMutex<number>({ name }).at(42), new KeyedSemaphore<number>(1, { name }).at(42)],
};
for (const [label, things] of Object.entries(labels)) {
  test(`events of a ${label.split(" ")[0]}: with its name and key`, async () => {
    for (const thing of things) {
      using recording = new Recording();
      await Promise.all([thing.run(() => {}), thing.run(() => {})]);
      assert.deepEqual(recording.lines.filter((line) => !line.endsWith(` ${label}`)), []);
      assert.ok(recording.lines.length >= 4);
    }
  });
}

test("events of a semaphore: permits, and releases without a guard", async () => {
  using ledger = new Ledger();
  using recording = new Recording();
  const semaphore = new Semaphore(3, { name });
  await semaphore.acquire({ permits: 3 });
  const waiting = semaphore.acquire({ permits: 2 });
  semaphore.release(3);
  (await waiting).release();
  assert.deepEqual(recording.seen.map(({ event, permits }) => `${event} ${permits}`), [
    "grant 3",
    "wait 2",
    "release 3",
    "grant 2",
    "release 2",
  ]);
  ledger.assertSettled();
});

test("events of a semaphore: a request for several permits that is refused as full", async () => {
  using recording = new Recording();
  const semaphore = new Semaphore(3, { name, maxWaiting: 0 });
  const guard = semaphore.tryAcquire()!;
  await assert.rejects(semaphore.acquire({ permits: 3 }), QueueFullError);
  guard.release();
  const seen = recording.seen.map(({ event, permits, outcome }) => [event, permits, outcome]);
  assert.deepEqual(seen, [["grant", 1, undefined], ["giveUp", 3, "full"], ["release", 1, undefined]]);
});

test("events of a condition with a lock of its own: that has the same name", async () => {
  using recording = new Recording();
  await new Condition(undefined, { name }).run(() => {});
  assert.deepEqual(recording.lines, ["grant lock orders", "release lock orders"]);
});

test("events of a barrier: a grant for each party, also for the last one, which does not wait", async () => {
  using recording = new Recording();
  const barrier = new Barrier(2, { name });
  await Promise.all([barrier.wait(), barrier.wait()]);
  assert.deepEqual(recording.lines, ["wait barrier orders", "grant barrier orders", "grant barrier orders"]);
});

test("events of a barrier that breaks: an error", async () => {
  using recording = new Recording();
  const barrier = new Barrier(2, { name });
  const waiting = watch(barrier.wait());
  barrier.abort();
  await flushMicrotasks();
  assert.equal(waiting.state, "rejected");
  assert.deepEqual(recording.lines, ["wait barrier orders", "giveUp barrier orders error"]);
});

test("events of a condition: its wait, and the lock that is given back meanwhile", async () => {
  using ledger = new Ledger();
  using recording = new Recording();
  const condition = new Condition(new Lock({ name: "lock" }), { name });
  const waiting = condition.run(() => condition.wait());
  await flushMicrotasks();
  await condition.run(() => condition.notify());
  await waiting;
  assert.deepEqual(recording.lines, [
    "grant lock lock",
    "wait condition orders",
    "release lock lock",
    "grant lock lock",
    "wait lock lock",
    "grant condition orders",
    "release lock lock",
    "grant lock lock",
    "release lock lock",
  ]);
  ledger.assertSettled();
});

test("events of a condition: aborted by an observer of its wait, it has given the lock back first", async () => {
  using ledger = new Ledger();
  const controller = new AbortController();
  using _aborting = observe({
    wait({ kind }) {
      if (kind === "condition") controller.abort();
    },
  });
  const condition = new Condition();
  const guard = await condition.acquire();
  await assert.rejects(condition.wait({ signal: controller.signal }));
  guard.release();
  ledger.assertSettled();
});

test("events of a pool: a wait for a slot, and the function's time as the hold", async () => {
  using ledger = new Ledger();
  using recording = new Recording();
  await using pool = new Pool(1, { name });
  const results = [pool.run(() => 1), pool.run(() => 2)];
  const controller = new AbortController();
  const aborted = watch(pool.run(() => 3, { signal: controller.signal }));
  controller.abort();
  await Promise.all(results);
  await flushMicrotasks();
  assert.equal(aborted.state, "rejected");
  assert.deepEqual(recording.lines, [
    "grant pool orders",
    "wait pool orders",
    "wait pool orders",
    "giveUp pool orders aborted",
    "release pool orders",
    "grant pool orders",
    "release pool orders",
  ]);
  ledger.assertSettled();
});

test("events of a pool: every item of a map has a grant and a release, however the map ends", async () => {
  for (const end of ["natural", "left", "failed", "cancelled"]) {
    for (const rate of [undefined, new RateLimiter(100, 1)]) {
      using ledger = new Ledger();
      using recording = new Recording();
      const pool = new Pool(2, { name, rate });
      const map = pool.map([0, 1, 2, 3, 4, 5], async (n) => {
        await Promise.resolve();
        if (n === 2 && end === "failed") throw new Error("failed");
        if (n === 2 && end === "cancelled") pool.cancel("stop");
      });
      if (end === "left") await map.next().then(() => map.return!());
      else await map.toArray().catch(() => {});
      await pool.join();
      ledger.assertSettled();
      const grants = recording.lines.filter((line) => line === "grant pool orders").length;
      if (end === "natural") assert.equal(grants, 6);
    }
  }
});

test("events of a pool: the next call has its slot when the release is reported", async () => {
  const pool = new Pool(1), seen: string[] = [];
  const note = (event: string) => () => void seen.push(`${event}: ${pool.active} active, ${pool.waiting} wait`);
  using _ = observe({ grant: note("grant"), release: note("release") });
  await Promise.all([pool.run(() => {}), pool.run(() => {})]);
  await pool.join();
  assert.deepEqual(seen, [
    "grant: 1 active, 0 wait",
    "release: 1 active, 0 wait",
    "grant: 1 active, 0 wait",
    "release: 0 active, 0 wait",
  ]);
});

test("events of a pool: a raised limit has started all calls when the first is reported", async () => {
  await using pool = new Pool(1);
  pool.limit = 0;
  const results = [pool.run(() => {}), pool.run(() => {})];
  const waiting: number[] = [];
  {
    using _ = observe({ grant: () => void waiting.push(pool.waiting) });
    pool.limit = 2;
  }
  assert.deepEqual(waiting, [0, 0]);
  await Promise.all(results);
});

test("events of a KeyedRateLimiter: a raised limit has started the calls of all keys when the first is reported", async () => {
  const limiter = new KeyedRateLimiter<string>(1, 60_000);
  const keys = ["a", "b"], waiting: number[] = [];
  const starts = keys.flatMap((key) => [limiter.acquire(key), limiter.acquire(key)]);
  {
    using _ = observe({ grant: () => void waiting.push(...keys.map((key) => limiter.waiting(key))) });
    limiter.limit = 2;
  }
  assert.deepEqual(waiting, [0, 0, 0, 0]);
  await Promise.all(starts);
});
