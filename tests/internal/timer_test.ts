/** One timer that can be moved, and its users, under clocks that go away. */
import assert from "node:assert/strict";
import { Timer } from "../../lib/internal/timer.ts";
import { Pool, RateLimiter } from "../../mod.ts";
import { fakes, under } from "./_fake_clocks.ts";
import { test } from "../_test.ts";
import { flushMicrotasks, until, withFakeTime } from "../_tools.ts";

test("Timer: cleared or set again by another one of the same moment, it does not fire", () =>
  withFakeTime(async (time) => {
    const fired: string[] = [];
    const first = new Timer(() => {
      fired.push("first");
      cleared.clear();
      later.set(performance.now() + 5);
    });
    const cleared = new Timer(() => fired.push("cleared"));
    const later = new Timer(() => fired.push("later"));
    for (const timer of [first, cleared, later]) timer.set(performance.now() + 10);
    time.advance(10);
    await flushMicrotasks();
    assert.deepEqual(fired, ["first"]);
    time.advance(5);
    assert.deepEqual(fired, ["first", "later"]);
  }));

test("Timer: fires with the moment for which it was set, once, and can be moved", () =>
  withFakeTime((time) => {
    const fired: number[] = [];
    const timer = new Timer((at) => fired.push(at));
    timer.set(10);
    timer.set(30);
    timer.setNoLaterThan(40);
    assert.equal(timer.at, 30);
    timer.setNoLaterThan(20);
    time.advance(19);
    assert.deepEqual(fired, []);
    time.advance(100);
    assert.deepEqual([fired, timer.at], [[20], Infinity]);
    return Promise.resolve();
  }));

for (const [name, make] of Object.entries(fakes)) {
  test(`Timer: one that was set on a clock that is gone counts as not set (${name})`, async () => {
    let fired = 0;
    const timer = new Timer(() => fired++);
    await under(make, async () => {
      timer.set(performance.now() + 1);
      await flushMicrotasks();
    });
    assert.equal(timer.at, Infinity);
    timer.setNoLaterThan(performance.now() + 2);
    await until(() => fired === 1);
  });

  test(`Pool: a call with a rate that was left under a fake clock holds up no later one (${name})`, async () => {
    const rate = new RateLimiter(1, 20);
    const pool = new Pool(3, { rate });
    let served = 0;
    const left: Promise<unknown>[] = [];
    await under(make, async () => {
      for (let i = 0; i < 2; i++) left.push(pool.run(() => served++));
      await flushMicrotasks();
      assert.deepEqual([served, pool.waiting], [1, 1]);
    });
    await pool.run(() => served++);
    assert.equal(served, 3);
    await Promise.all(left);
    await pool.join();
  });
}
