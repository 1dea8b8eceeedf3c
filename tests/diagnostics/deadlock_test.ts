/** `watchdog({ self: "reject" })`: a call that waits for what its own run holds rejects at once. */
import assert from "node:assert/strict";
import {
  BoundedSemaphore,
  Condition,
  KeyedMutex,
  Lock,
  Pool,
  RateLimiter,
  RwLock,
  Semaphore,
  SyncError,
  TaskGroup,
  TimeoutError,
} from "../../mod.ts";
import { memoryBackend, RedisLock, RedisRwLock, RedisSemaphore } from "../../lib/redis/mod.ts";
import { DeadlockError, type Finding, watchdog } from "../../lib/diagnostics/mod.ts";
import { WebLock, WebRwLock } from "../../lib/web/mod.ts";
import { test } from "../_test.ts";
import { deferred, flushMicrotasks, nextTurn, withFakeTime } from "../_tools.ts";

function rejecting(): Disposable {
  return watchdog({ self: "reject", report() {} });
}

test("deadlock: a lock inside of its own run, by acquire and by run, with and without options", async () => {
  using _watching = rejecting();
  const lock = new Lock({ name: "orders" });
  const { signal } = new AbortController();
  const calls: (() => Promise<unknown>)[] = [
    async () => void await lock.acquire(), // awaited here: Bun's stacks leave out a function that ends with a call
    async () => void await lock.acquire({ signal }),
    async () => await lock.run(() => {}),
    async () => await lock.run(() => {}, { timeout: 1000 }),
    async () => {
      await nextTurn();
      await lock.acquire();
    },
  ];
  for (const call of calls) {
    const error: unknown = await lock.run(call).catch((error: unknown) => error);
    assert.ok(error instanceof DeadlockError && error instanceof SyncError && error.name === "DeadlockError");
    assert.match(
      error.message,
      /^Cannot acquire lock "orders": the run around the call at deadlock_test\.ts:\d+ holds it, and would wait for itself; held for \d+ ms, acquired at deadlock_test\.ts:\d+$/,
    );
    assert.deepEqual([lock.locked, lock.waiting], [false, 0]);
  }
});

test("deadlock: a try, a wait of no time and an aborted signal end as they always do", async () => {
  using _watching = rejecting();
  const lock = new Lock();
  await lock.run(async () => {
    assert.equal(lock.tryAcquire(), undefined);
    await assert.rejects(lock.acquire({ timeout: 0 }), TimeoutError);
    await assert.rejects(lock.acquire({ signal: AbortSignal.abort("mine") }), (error) => error === "mine");
  });
});

test("deadlock: a key, and no other key of the same mutex", async () => {
  using _watching = rejecting();
  const users = new KeyedMutex<number>({ name: "users" });
  await users.run(1, async () => {
    await users.run(2, () => {});
    await assert.rejects(users.run(1, () => {}), /^DeadlockError: Cannot acquire lock "users" for key 1: /);
  });
  assert.equal(users.size, 0);
});

test("deadlock: the sides of a RwLock", async () => {
  using _watching = rejecting();
  const { reader, writer } = new RwLock();
  await writer.run(async () => {
    await assert.rejects(reader.run(() => {}), DeadlockError);
    await assert.rejects(writer.run(() => {}), DeadlockError);
  });
  await reader.run(async () => {
    await reader.run(() => {}); // readers share
    const other = await Promise.resolve(reader.tryAcquire());
    await assert.rejects(writer.run(() => {}), DeadlockError); // also beside another reader: it needs every hold to end
    other!.release();
  });
  // A reader behind a writer that waits for the run around it.
  const held = deferred();
  const outer = reader.run(async () => {
    await held.promise;
    await reader.run(() => {});
  });
  await flushMicrotasks();
  const waiting = writer.acquire();
  held.resolve();
  await assert.rejects(outer, DeadlockError);
  (await waiting).release();
});

test("deadlock: a semaphore whose other permits are held by others is none", async () => {
  using _watching = rejecting();
  const semaphore = new Semaphore(2);
  const other = await semaphore.acquire();
  await semaphore.run(async () => {
    const inner = semaphore.run(() => "granted");
    await flushMicrotasks();
    assert.equal(semaphore.waiting, 1);
    other.release();
    assert.equal(await inner, "granted");
    // Both permits are this run's own.
    await semaphore.run(() => assert.rejects(semaphore.run(() => {}), DeadlockError));
  });
  assert.equal(semaphore.value, 2);
});

test("deadlock: a pool nested in itself, where each of its slots is the run's own", async () => {
  using _watching = rejecting();
  for (const limit of [1, 2]) {
    const pool = new Pool(limit, { name: "pages" });
    const nest = (depth: number): Promise<unknown> => pool.run(() => depth === 0 ? "inside" : nest(depth - 1));
    assert.equal(await nest(limit - 1), "inside");
    await assert.rejects(nest(limit), /^DeadlockError: Cannot run in pool "pages": /);
    assert.deepEqual([pool.active, pool.waiting], [0, 0]);
  }
  const mapping = new Pool(1);
  await assert.rejects(mapping.map([1], () => mapping.run(() => {})).toArray(), DeadlockError);
  const pool = new Pool(2);
  const end = deferred();
  const other = pool.run(() => end.promise);
  const outer = pool.run(() => pool.run(() => "inside"));
  await flushMicrotasks();
  assert.equal(pool.waiting, 1);
  end.resolve();
  assert.equal(await outer, "inside");
  await other;
});

test("deadlock: a pool that waits for its rate, or is paused, does not wait for the slots that are taken", async () => {
  await withFakeTime(async (time) => {
    using _watching = rejecting();
    const pool = new Pool(3, { rate: new RateLimiter(1, 1000) });
    const outer = pool.run(() => pool.run(() => "inside"));
    await time.pass(1000, 100);
    assert.equal(await outer, "inside");
    const mapped = pool.run(() => pool.map([1], () => "mapped").toArray());
    await time.pass(2000, 100);
    assert.deepEqual(await mapped, ["mapped"]);
    // All of its slots are the run's own.
    const nest = (depth: number): Promise<unknown> => pool.run(() => depth === 0 ? "inside" : nest(depth - 1));
    const full = assert.rejects(nest(3), DeadlockError);
    await time.pass(4000, 100);
    await full;
  });
  using _watching = rejecting();
  for (const thing of [new Pool(3), new BoundedSemaphore(3)]) {
    const result = await thing.run(async () => {
      thing.limit = 0;
      const inner = thing.run(() => "inside");
      await flushMicrotasks();
      assert.equal(thing.waiting, 1);
      thing.limit = 3;
      return await inner;
    });
    assert.equal(result, "inside");
  }
});

test("deadlock: a Condition's way back to its lock is never refused", async () => {
  using _watching = rejecting();
  const lock = new Lock(), condition = new Condition(lock);
  const waited = lock.run(async () => {
    await condition.wait();
    return "back";
  });
  await flushMicrotasks();
  await lock.run(async () => {
    condition.notify(); // from now on the waiter is in the lock's queue
    await flushMicrotasks();
  });
  assert.equal(await waited, "back");
});

test("deadlock: a Condition's way back is not refused while the run that its guard was acquired in holds the lock again", async () => {
  const condition = new Condition();
  using _watching = rejecting();
  const order: string[] = [];
  const inner = async () => {
    using _ = await condition.acquire(); // while the run around it has lent its hold
    await condition.wait();
    order.push("inner");
  };
  let ended: Promise<void> | undefined;
  const outer = condition.run(async () => {
    const back = condition.wait();
    ended = inner();
    await back;
    condition.notify();
    order.push("outer");
  });
  await flushMicrotasks();
  await condition.run(() => condition.notify());
  await outer;
  await ended;
  assert.deepEqual(order, ["outer", "inner"]);
});

test("deadlock: without reject it waits, and other deadlocks are reported with it", () =>
  withFakeTime(async (time) => {
    const lock = new Lock(), a = new Lock({ name: "a" }), b = new Lock({ name: "b" });
    {
      using _watching = watchdog({ report() {} });
      await assert.rejects(
        Promise.all([lock.run(() => lock.acquire({ timeout: 10 })), time.pass(20, 1)]),
        TimeoutError,
      );
    }
    const findings: Finding[] = [];
    using _watching = watchdog({ self: "reject", report: (_, finding) => findings.push(finding) });
    const controller = new AbortController(), { signal } = controller;
    const nested = (outer: Lock, inner: Lock) =>
      outer.run(async () => {
        await flushMicrotasks();
        await inner.run(() => {}, { signal });
      });
    const both = Promise.allSettled([nested(a, b), nested(b, a)]);
    await time.pass(2000, 100);
    assert.deepEqual(findings.map(({ kind }) => kind), ["cycle"]);
    controller.abort();
    await both;
  }));

test("deadlock: without files and lines it is rejected as well", async () => {
  using _watching = watchdog({ self: "reject", sites: false, report() {} });
  const lock = new Lock();
  await assert.rejects(lock.run(() => lock.acquire()), /would wait for itself; held for \d+ ms$/);
});

test("deadlock: over Redis, where one hold excludes all others", async () => {
  using _watching = rejecting();
  const backend = memoryBackend();
  const lock = new RedisLock(backend, "orders");
  await lock.run(() => assert.rejects(lock.acquire(), /^DeadlockError: Cannot acquire lock "orders": /));
  const { reader, writer } = new RedisRwLock(backend, "catalog");
  await reader.run(() => assert.rejects(writer.acquire(), DeadlockError));
  await writer.run(() => assert.rejects(reader.acquire(), DeadlockError));
  // The other permit may be held by another process: it waits.
  const semaphore = new RedisSemaphore(backend, "gateway", 2);
  const other = await semaphore.acquire();
  await semaphore.run(() => assert.rejects(semaphore.acquire({ timeout: 50 }), TimeoutError));
  await other.release();
  assert.equal(await lock.run(() => "free"), "free");
});

test("deadlock: work that is started beside a run waits for it, and is no deadlock", async () => {
  using _watching = rejecting();
  const pool = new Pool(1), ran: string[] = [];
  await pool.run(() => {
    pool.createTask(() => void ran.push("task")).catch((error) => ran.push(String(error)));
  });
  await pool.join();
  const group = new TaskGroup({ limit: 1 });
  void group.run(() => {
    void group.run(() => void ran.push("inner"));
  });
  await group.join();
  assert.deepEqual(ran, ["task", "inner"]);
});

// Node 20 and Bun have no locks of the platform.
if ((globalThis as { navigator?: { locks?: unknown } }).navigator?.locks !== undefined) {
  test("deadlock: over the platform's locks", async () => {
    using _watching = rejecting();
    const lock = new WebLock("deadlock test"), { reader, writer } = new WebRwLock("deadlock test sides");
    await lock.run(() => assert.rejects(lock.acquire(), /^DeadlockError: Cannot acquire lock "deadlock test": /));
    await reader.run(() => assert.rejects(writer.acquire(), DeadlockError));
    await writer.run(() => assert.rejects(reader.run(() => {}), DeadlockError));
    assert.equal(await lock.run(() => "free"), "free");
    assert.equal(await writer.run(() => "free"), "free");
  });
}
