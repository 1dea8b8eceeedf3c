import assert from "node:assert/strict";
import { observe, snapshot } from "../../lib/diagnostics/mod.ts";
import { test } from "../_test.ts";
import { flushMicrotasks, withFakeTime } from "../_tools.ts";
import { Thing } from "./_tools.ts";

test("snapshot: present holders and waiters of each thing, the oldest first", () =>
  withFakeTime(async (time) => {
    await flushMicrotasks();
    using _ = observe({});
    assert.deepEqual(snapshot(), []);
    const orders = new Thing("lock", "orders"), gateway = new Thing("semaphore", "gateway"), guard = {}, waiter = {};
    orders.grant(guard);
    time.advance(5);
    orders.wait({});
    time.advance(5);
    orders.wait(waiter);
    gateway.grant({}, 3);
    time.advance(1);
    const calls = snapshot().map(({ kind, name, key, holders, waiters }) => ({
      ...{ kind, name, key },
      holders: holders.map(({ permits, since, lasted }) => [permits, since, lasted]),
      waiters: waiters.map(({ permits, since, lasted }) => [permits, since, lasted]),
    }));
    assert.deepEqual(calls, [
      { kind: "lock", name: "orders", key: undefined, holders: [[1, 0, 11]], waiters: [[1, 5, 6], [1, 10, 1]] },
      { kind: "semaphore", name: "gateway", key: undefined, holders: [[3, 10, 1]], waiters: [] },
    ]);
    orders.timeOut(waiter);
    orders.release(guard);
    assert.deepEqual(snapshot().map(({ holders, waiters }) => [holders.length, waiters.length]), [[0, 1], [1, 0]]);
  }));

test("snapshot: the sides of a thing that share their holders are things of their own", () => {
  using _ = observe({});
  const sharedState = {};
  new Thing("reader", "config", undefined, sharedState).grant({});
  new Thing("writer", "config", undefined, sharedState).wait({});
  assert.deepEqual(snapshot().map(({ kind, holders, waiters }) => [kind, holders.length, waiters.length]), [
    ["reader", 1, 0],
    ["writer", 0, 1],
  ]);
});

test("snapshot: it is empty again once nothing is observed", () => {
  {
    using _ = observe({});
    new Thing().grant({});
    assert.equal(snapshot().length, 1);
  }
  assert.deepEqual(snapshot(), []);
  using _ = observe({});
  assert.deepEqual(snapshot(), []);
});
