/** console.log of everything public: its class, its name and its public state. */
import assert from "node:assert/strict";
import * as local from "../../mod.ts";
import { logged } from "../_logged.ts";
import type { Needs } from "../kinds/kind.ts";
import { localKinds } from "../kinds/local.ts";
import { test } from "../_test.ts";
import { watch } from "../_tools.ts";

const name = "orders";

test("show: the class, the name and the public state", async () => {
  const results = new local.Pool(1).map([1], (n) => n);
  await results.toArray();
  const expected: [object, string][] = [
    [new local.Lock({ name }), "Lock { name: 'orders', locked: false, waiting: 0 }"],
    [new local.Lock(), "Lock { locked: false, waiting: 0 }"],
    [new local.TimeoutLock(5, { name }), "TimeoutLock { name: 'orders', locked: false, waiting: 0 }"],
    [new local.Event({ name }), "Event { name: 'orders', isSet: false, waiting: 0 }"],
    [new local.SetEvent([1], { name }), "SetEvent { name: 'orders', size: 1, isSet: false, waiting: 0 }"],
    [new local.Condition(new local.Lock(), { name }), "Condition { name: 'orders', locked: false, waiting: 0 }"],
    [new local.Semaphore(3, { name }), "Semaphore { name: 'orders', value: 3, locked: false, waiting: 0 }"],
    [
      new local.BoundedSemaphore(3, { name }),
      "BoundedSemaphore { name: 'orders', value: 3, limit: 3, locked: false, waiting: 0 }",
    ],
    [new local.Barrier(3, { name }), "Barrier { name: 'orders', parties: 3, waiting: 0, broken: false }"],
    [new local.KeyedMutex({ name }), "KeyedMutex { name: 'orders', size: 0 }"],
    [new local.KeyedMutex().at(5), "KeyedLock { key: 5, locked: false, waiting: 0 }"],
    [new local.RwLock().reader, "RwLockSide { locked: false, waiting: 0 }"],
    [new local.GracefulShutdown({ signals: [] }), "GracefulShutdown { ready: true, active: 0, labels: [] }"],
    [results, "MapResults {}"],
    [new local.Queue(3, { name }), "Queue { name: 'orders', size: 0, capacity: 3, getting: 0, putting: 0 }"],
    [new local.TaskGroup({ name }), "TaskGroup { name: 'orders', active: 0, waiting: 0 }"],
    [new local.SingleFlight({ name }), "SingleFlight { name: 'orders', size: 0 }"],
    [new local.KeyedSemaphore(1, { name }), "KeyedSemaphore { name: 'orders', size: 0 }"],
    [
      new local.KeyedRateLimiter(3, 100, { name }),
      "KeyedRateLimiter { name: 'orders', limit: 3, interval: 100, size: 0 }",
    ],
    [new local.RateLimiter(3, 100, { name }), "RateLimiter { name: 'orders', limit: 3, interval: 100, waiting: 0 }"],
  ];
  for (const [thing, text] of expected) assert.equal(logged(thing), text);
  const rw = logged(new local.RwLock({ name }));
  assert.match(
    rw,
    /^RwLock { name: 'orders', reader: RwLockSide { .*locked: false, waiting: 0 },? writer: RwLockSide {/,
  );
});

test("show: the state changes, and guards show whether they are held", async () => {
  const lock = new local.Lock();
  const guard = await lock.acquire();
  const waiter = watch(lock.acquire());
  assert.equal(logged(guard), "Guard { held: true }");
  assert.equal(logged(lock), "Lock { locked: true, waiting: 1 }");
  guard.release();
  assert.equal(logged(guard), "Guard { held: false }");
  (await waiter.promise).release();
  const group = await local.acquireAll([lock]);
  assert.match(logged(group), /^GuardGroup { held: true, guards: \[ Guard { held: true } \] }$/);
  await group.release();
});

test("show: what is closed says so", () => {
  const things = Object.values(localKinds).map(({ make }) => make(undefined, {} as Needs) as { cancel(): void });
  for (const thing of things.filter((one) => "closed" in one)) {
    assert.ok(!logged(thing).includes("closed"));
    thing.cancel();
    assert.match(logged(thing), /\bclosed: true,? }$/);
  }
});

test("show: messages name a guard as console.log does", async () => {
  const semaphore = new local.Semaphore(3);
  const guard = await semaphore.acquire();
  assert.throws(
    () => semaphore.release(guard as never),
    new TypeError("permits must be a number, got an object (Guard)"),
  );
  guard.release();
});

test("show: a subclass shows its own name, and a prototype shows no state", () => {
  class OrderLock extends local.Lock {}
  assert.equal(logged(new OrderLock()), "OrderLock { locked: false, waiting: 0 }");
  assert.equal(logged(new (class extends local.Lock {})()), "Lock { locked: false, waiting: 0 }");
  assert.equal(logged(new (class extends local.TimeoutLock {})(5)), "TimeoutLock { locked: false, waiting: 0 }");
  assert.throws(
    () => new local.Condition(new (class extends local.Semaphore {})() as never),
    new TypeError("lock must be a Lock, got an object (Semaphore)"),
  );
  assert.doesNotThrow(() =>
    logged(local.Lock.prototype, Object.create(local.Lock.prototype), local.Semaphore.prototype)
  );
  assert.ok(!logged({ a: [new local.Lock()] }).includes("mutex"));
});
