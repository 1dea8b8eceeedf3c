/** Token buckets: RateLimiter and KeyedRateLimiter with the kind "bucket". */
import assert from "node:assert/strict";
import { KeyedRateLimiter, type RateBudget, RateLimiter } from "../mod.ts";
import { assertSound } from "./sound/mod.ts";
import { test } from "./_test.ts";
import { flushMicrotasks, withFakeTime } from "./_tools.ts";

const kind = "bucket";

test("bucket: each budget names its kind", () => {
  const budgets = [{ limit: 1, interval: 10 }, { limit: 2, interval: 20, kind }] as const;
  for (const limiter of [new RateLimiter(budgets), new KeyedRateLimiter<string>(budgets)]) {
    assert.deepEqual(limiter.budgets.map(({ kind }) => kind), ["window", "bucket"]);
  }
});

test("bucket: where interval / limit is no whole number, starts are as early as the bound allows, for long", () =>
  withFakeTime(async (time) => {
    const api = new RateLimiter(3, 100, { kind });
    const starts: number[] = [];
    const begin = performance.now();
    const calls = Array.from({ length: 1000 }, () => api.acquire().then(() => starts.push(performance.now() - begin)));
    await flushMicrotasks();
    while (starts.length < 1000) await time.pass(50, 1);
    await Promise.all(calls);
    starts.forEach((at, i) => assert.equal(at, Math.ceil(Math.max(0, i - 2) * 100 / 3)));
  }));

test("bucket: the greatest penalties leave no error in the count, and a reward gives back what is missing at most", () =>
  withFakeTime(async (time) => {
    const api = new RateLimiter(4, 100, { kind });
    api.tryAcquire(4);
    time.advance(60);
    api.reward(1000);
    time.advance(1);
    assert.equal(api.remaining, 4);
    api.penalty(Number.MAX_SAFE_INTEGER);
    api.penalty(Number.MAX_SAFE_INTEGER);
    api.reward(Number.MAX_SAFE_INTEGER);
    assert.equal(api.retryAfter(), 25);
    await flushMicrotasks();
  }));

test("bucket: a lower limit cuts what is in it, a higher one adds nothing, an interval counts from now on", () =>
  withFakeTime(async (time) => {
    const api = new RateLimiter(10, 100, { kind });
    api.tryAcquire(2);
    api.limit = 5;
    assert.equal(api.remaining, 5);
    api.limit = 10;
    assert.equal(api.remaining, 5);
    time.advance(10);
    assert.equal(api.remaining, 6);
    api.interval = 1000;
    time.advance(100);
    assert.equal(api.remaining, 7);
    api.limit = 8;
    assert.equal(api.retryAfter(8), 125);
    assertSound(api);
    await flushMicrotasks();
  }));

test("bucket: after a change of its numbers, starts are not late by a rounding error", () =>
  withFakeTime(async (time) => {
    for (const api of [new RateLimiter(3, 21, { kind }), new RateLimiter([{ limit: 3, interval: 21, kind }])]) {
      api.tryAcquire();
      time.advance(3);
      api.limit = 4; // two and three sevenths are in it, and four sevenths are to come
      time.advance(3);
      api.penalty(2);
      assert.deepEqual([api.remaining, api.retryAfter()], [1, 0]);
      assertSound(api);
    }
    const late: string[] = [];
    for (let limit = 1; limit <= 12; limit++) {
      for (let step = 1; step <= 9; step++) {
        for (let before = 1; before < step * limit; before++) {
          const api = new RateLimiter(limit, step * limit, { kind });
          api.tryAcquire(limit);
          time.advance(before);
          api.interval = 2 * step * limit; // what is missing takes twice as long
          time.advance(2 * (step * limit - before));
          if (api.remaining < limit) late.push(`${limit} in ${step * limit} ms, changed after ${before} ms`);
        }
      }
    }
    assert.deepEqual(late, []);
    await flushMicrotasks();
  }));

test("bucket: keys with a full bucket have no entry, and limits hold for keys without one", () =>
  withFakeTime(async (time) => {
    const users = new KeyedRateLimiter<string>(4, 100, { kind });
    assert.equal(users.tryAcquire("ada", 2), true);
    assert.deepEqual([users.remaining("ada"), users.remaining("alan"), users.size], [2, 4, 1]);
    time.advance(49);
    assert.equal(users.size, 1);
    time.advance(1);
    assert.equal(users.size, 0);
    users.limit = 6; // as with a RateLimiter, this adds nothing
    assert.deepEqual([users.remaining("ada"), users.retryAfter("alan", 6)], [4, 34]);
    time.advance(34);
    assert.deepEqual([users.remaining("ada"), users.size], [6, 0]);
    assertSound(users);
    await flushMicrotasks();
  }));

test("bucket: a start counts from when its caller goes on", async () => {
  const api = new RateLimiter(1, 40, { kind });
  const began = api.acquire().then(() => performance.now());
  for (const end = performance.now() + 30; performance.now() < end;); // the caller goes on after this
  const first = await began;
  await api.acquire();
  const second = performance.now();
  assert.ok(second - first >= 40, `${second - first} ms apart`);
});

test("bucket: the kind of the options is that of budgets that name none; others are refused", () => {
  const budgets: RateBudget[] = [{ limit: 2, interval: 1000 }, { limit: 9, interval: 1000, kind: "window" }];
  const api = new RateLimiter(budgets, { kind });
  api.tryAcquire([2, 9]);
  assert.deepEqual([Math.ceil(api.retryAfter([1, 0]) / 500), Math.ceil(api.retryAfter([0, 1]) / 500)], [1, 2]);
  for (const wrong of ["Bucket", "", 1, null]) {
    const message = /kind must be "window" or "bucket", got /;
    assert.throws(() => new RateLimiter(1, 1, { kind: wrong as never }), message);
    assert.throws(() => new KeyedRateLimiter([{ limit: 1, interval: 1, kind: wrong as never }]), message);
  }
});
