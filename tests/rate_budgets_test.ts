/** RateLimiter and KeyedRateLimiter: several budgets, numbers that are set later, and keys. Their walks have the rest. */
import assert from "node:assert/strict";
import { ClosedError, KeyedRateLimiter, type KeyedRateLimiterBudget, RateLimiter } from "../mod.ts";
import { observe } from "../lib/diagnostics/mod.ts";
import { limiters } from "./_limiters.ts";
import { test } from "./_test.ts";
import { flushMicrotasks, states, watch, withFakeTime } from "./_tools.ts";

for (const [kind, make] of limiters) {
  test(`${kind}: the greatest penalties leave no error in the count`, () =>
    withFakeTime(async (time) => {
      const limiter = make([{ limit: 3, interval: 100 }]);
      for (const starts of [Number.MAX_SAFE_INTEGER, 2, Number.MAX_SAFE_INTEGER]) {
        limiter.penalty(starts);
        time.advance(1);
      }
      const waits = watch(limiter.acquire({ permits: 3 }));
      time.advance(96);
      assert.equal(await states([waits]), "pending");
      time.advance(1);
      assert.equal(await states([waits]), "fulfilled");
      assert.equal(limiter.remaining(), 0);
    }));

  test(`${kind}: permits as a list are read once`, async () => {
    const limiter = make([{ limit: 2, interval: 1000 }, { limit: 1000, interval: 1000 }]);
    const permits = [1, 900];
    const first = limiter.acquire({ permits });
    permits[1] = 1;
    await first;
    assert.deepEqual([limiter.tryAcquire([1, 200]), limiter.tryAcquire([1, 100])], [false, true]);
  });

  test(`${kind}: bad permits, budgets and times are refused, and change nothing`, async () => {
    const limiter = make([{ limit: 2, interval: 1000 }, { limit: 10, interval: 1000 }]);
    for (const permits of [[1], [1, 2, 3], [0, 0], [3, 1], [1, 11], [-1, 1], [1.5, 1], [NaN, 1], [], 3, 0]) {
      await assert.rejects(limiter.acquire({ permits }), RangeError, `${permits}`);
      assert.throws(() => limiter.tryAcquire(permits), RangeError);
      assert.throws(() => limiter.retryAfter(permits), RangeError);
    }
    const message = "permits.length must be 2, got 1";
    await assert.rejects(limiter.acquire({ permits: [1] }), { name: "RangeError", message });
    for (const permits of [["1", 1], [1, null], [, 1], "1", null, {}]) {
      await assert.rejects(limiter.acquire({ permits: permits as never }), TypeError);
      for (const method of ["tryAcquire", "retryAfter", "reward", "penalty"] as const) {
        assert.throws(() => limiter[method](permits as never), TypeError);
      }
    }
    for (const permits of [-1, 1.5, NaN, Infinity, [1], [-1, 1], [0]]) {
      assert.throws(() => limiter.reward(permits), RangeError);
      assert.throws(() => limiter.penalty(permits), RangeError);
    }
    for (const wrong of [-1, NaN, Infinity]) assert.throws(() => limiter.block(wrong), RangeError);
    for (const wrong of [undefined, "1", null, 1n]) assert.throws(() => limiter.block(wrong as never), TypeError);
    assert.throws(() => make([]), RangeError);
    for (const limit of [0, -1, 1.5, NaN, Infinity]) assert.throws(() => make([{ limit, interval: 1 }]), RangeError);
    for (const interval of [0, -1, NaN, Infinity]) assert.throws(() => make([{ limit: 1, interval }]), RangeError);
    for (
      const wrong of [null, {}, [null], [5], [{ limit: 1 }], [{ interval: 1 }], [{ limit: "1", interval: 1 }], [
        { limit: 1, interval: 1n },
      ], [, { limit: 1, interval: 1 }]]
    ) {
      assert.throws(() => make(wrong as never), TypeError);
    }
    assert.throws(() => make([null] as never), /^TypeError: budgets\[0\] must be an object, got null$/);
    assert.throws(
      () => make(Promise.resolve([]) as never),
      /^TypeError: budgets must not be a promise: await it first/,
    );
    assert.throws(
      () => make([{ limit: 1, interval: 1 }, { limit: 1.5, interval: 1 }]),
      /^RangeError: budgets\[1\]\.limit must be a whole number of 1 or more, got 1.5$/,
    );
    assert.equal(limiter.remaining(), 2);
  });

  test(`${kind}: a reward or penalty of 0 changes nothing`, () =>
    withFakeTime(async (time) => {
      const limiter = make([{ limit: 2, interval: 100 }, { limit: 10, interval: 100, kind: "bucket" }]);
      for (const nothing of [0, [0, 0]]) {
        limiter.reward(nothing);
        limiter.penalty(nothing);
      }
      if (limiter.whole instanceof KeyedRateLimiter) assert.equal(limiter.whole.size, 0);
      limiter.tryAcquire([2, 10]);
      limiter.reward(0);
      limiter.penalty([0, 0]);
      assert.deepEqual([limiter.retryAfter([1, 0]), limiter.retryAfter([0, 1])], [100, 10]);
      time.advance(100);
      await flushMicrotasks();
    }));

  test(`${kind}: a limit or an interval that is set later counts alike, whether or not remaining was read before`, () =>
    withFakeTime(async (time) => {
      for (const bucket of [false, true]) {
        const budget = { limit: 4, interval: 100, kind: bucket ? "bucket" : "window" } as const;
        const [read, unread] = [make([budget]), make([budget])];
        for (const limiter of [read, unread]) limiter.tryAcquire(4);
        for (const change of [{ interval: 400 }, { limit: 2 }, { interval: 40 }, { limit: 8 }]) {
          time.advance(110);
          read.remaining();
          for (const limiter of [read, unread]) {
            limiter.tryAcquire();
            Object.assign(limiter.whole, change);
          }
          time.advance(30);
          assert.equal(unread.remaining(), read.remaining(), `${bucket} ${JSON.stringify(change)}`);
          assert.equal(unread.retryAfter(2), read.retryAfter(2));
        }
      }
      time.advance(1000);
      await flushMicrotasks();
    }));

  test(`${kind}: with a limit of 0, calls of any size wait until it is raised`, () =>
    withFakeTime(async (time) => {
      for (const bucket of [false, true]) {
        const limiter = make([{ limit: 2, interval: 100, kind: bucket ? "bucket" : "window" }]);
        limiter.whole.limit = 0;
        assert.deepEqual([limiter.remaining(), limiter.tryAcquire(), limiter.retryAfter()], [0, false, Infinity]);
        const waits = [3, 1].map((permits) => watch(limiter.acquire({ permits })));
        await time.pass(500);
        assert.equal(await states(waits), "pending pending");
        limiter.whole.limit = 4;
        await time.pass(bucket ? 75 : 0);
        assert.equal(await states(waits), bucket ? "fulfilled pending" : "fulfilled fulfilled");
        await time.pass(100);
        assert.equal(await states(waits), "fulfilled fulfilled");
        await time.pass(100);
      }
    }));
}

test("RateLimiter: budgets can be set one by one; the limiter's own numbers are the first one's", () =>
  withFakeTime(async (time) => {
    const limiter = new RateLimiter([{ limit: 5, interval: 10 }, { limit: 2, interval: 100 }], { name: "api" });
    const [first, second] = limiter.budgets;
    assert.deepEqual([limiter.name, limiter.limit, limiter.interval, limiter.budgets.length], ["api", 5, 10, 2]);
    limiter.tryAcquire(2);
    assert.deepEqual([limiter.remaining, first!.remaining, second!.remaining], [3, 3, 0]);
    const waits = watch(limiter.acquire());
    assert.deepEqual(limiter.budgets.map(({ remaining }) => remaining), [0, 0]);
    second!.limit = 3;
    assert.equal(await states([waits]), "fulfilled");
    first!.limit = 4;
    second!.interval = 5;
    assert.deepEqual([limiter.limit, second!.limit, second!.interval], [4, 3, 5]);
    for (const wrong of [-1, 1.5, NaN]) assert.throws(() => second!.limit = wrong, RangeError);
    for (const wrong of [0, Infinity]) assert.throws(() => second!.interval = wrong, RangeError);
    assert.throws(() => first!.limit = "1" as never, TypeError);
    time.advance(5);
    assert.equal(second!.remaining, 3);
    assert.equal(new RateLimiter(3, 5).budgets[0]!.limit, 3);
  }));

test("KeyedRateLimiter: limit, interval and budgets hold for all keys, and can be set", () =>
  withFakeTime(async (time) => {
    const users = new KeyedRateLimiter<string>(1, 100);
    const [budget] = users.budgets as [KeyedRateLimiterBudget<string>];
    users.tryAcquire("a");
    users.tryAcquire("b");
    const waits = ["a", "b"].map((key) => watch(users.acquire(key)));
    users.limit = 2;
    assert.equal(await states(waits), "fulfilled fulfilled");
    assert.deepEqual([users.limit, budget.limit, budget.remaining("a"), budget.remaining("c")], [2, 2, 0, 2]);
    users.interval = 10;
    time.advance(10);
    assert.deepEqual([budget.interval, users.remaining("a"), users.size], [10, 2, 0]);
    assert.throws(() => users.limit = -1, RangeError);
    assert.throws(() => users.interval = "1" as never, TypeError);
    await flushMicrotasks();
  }));

test("KeyedRateLimiter: an entry lives while its key is blocked, and questions leave none", () =>
  withFakeTime(async (time) => {
    const hosts = new KeyedRateLimiter<string>(1, 10);
    hosts.block("a", 1000);
    hosts.reward("b");
    assert.deepEqual([hosts.remaining("c"), hosts.retryAfter("d"), hosts.waiting("e")], [1, 0, 0]);
    assert.equal(hosts.size, 1);
    for (let key = 0; key < 100; key++) hosts.tryAcquire(`${key}`);
    hosts.penalty("p", 3);
    time.advance(10);
    assert.equal(hosts.size, 1);
    assert.equal(hosts.tryAcquire("a"), false);
    time.advance(990);
    assert.equal(hosts.size, 0);
    assert.equal(hosts.tryAcquire("a"), true);
    hosts.reward("a");
    assert.equal(hosts.size, 0, "nothing is left of a start that was given back");
    await flushMicrotasks();
  }));

test("KeyedRateLimiter: cancel closes it for all keys, in order, in one step", () =>
  withFakeTime(async () => {
    const users = new KeyedRateLimiter<string>(1, 100, { name: "users" });
    const order: string[] = [];
    for (const key of ["a", "b"]) users.tryAcquire(key);
    const calls = ["a", "b", "a"].map((key, i) => users.acquire(key).catch(() => order.push(`${key}${i}`)));
    users.cancel("enough");
    assert.deepEqual([users.waiting("a"), users.waiting("b"), users.remaining("c")], [0, 0, 0]);
    await Promise.all(calls);
    assert.deepEqual(order, ["a0", "a2", "b1"]);
    const words = 'Cannot acquire rate limiter "users" for key "new": rate limiter is closed';
    await assert.rejects(users.run("new", () => {}), new ClosedError(words));
    assert.throws(() => users.tryAcquire("new"), new ClosedError(words));
    await assert.rejects(users.acquire("a", { permits: 2 }), RangeError);
  }));

test("RateLimiter: a call of many permits costs no more than one, however large the limit", () =>
  withFakeTime(async (time) => {
    const limiter = new RateLimiter(30_000_000, 60_000);
    const before = performance.now;
    for (let calls = 0; calls < 10_000; calls++) {
      assert.equal(limiter.tryAcquire(3000), true);
      time.advance(1);
    }
    assert.equal(limiter.remaining, 0);
    assert.equal(performance.now, before);
    time.advance(60_000);
    assert.equal(limiter.remaining, 30_000_000);
    limiter.penalty(Number.MAX_SAFE_INTEGER);
    assert.equal(limiter.remaining, 0);
    time.advance(60_000);
    assert.equal(limiter.tryAcquire(30_000_000), true);
    await flushMicrotasks();
  }));

test("RateLimiter: observers see the first budget's permits", () =>
  withFakeTime(async (time) => {
    const limiter = new RateLimiter([{ limit: 2, interval: 10 }, { limit: 100, interval: 10 }]);
    const seen: number[] = [];
    using _ = observe({ grant: ({ permits }) => void seen.push(permits) });
    await limiter.acquire({ permits: [2, 7] });
    const waits = limiter.acquire({ permits: [1, 9] });
    time.advance(10);
    await waits;
    assert.deepEqual(seen, [2, 1]);
  }));
