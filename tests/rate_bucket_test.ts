/** Token buckets: RateLimiter, KeyedRateLimiter and a Pool's rate with the kind "bucket". */
import assert from "node:assert/strict";
import { KeyedRateLimiter, Pool, type RateBudget, RateLimiter } from "../mod.ts";
import { assertSound } from "./sound/mod.ts";
import { test } from "./_test.ts";
import { flushMicrotasks, states, watch, withFakeTime } from "./_tools.ts";

const kind = "bucket";

test("bucket: each budget names its kind", () => {
  const budgets = [{ limit: 1, interval: 10 }, { limit: 2, interval: 20, kind }] as const;
  for (const limiter of [new RateLimiter(budgets), new KeyedRateLimiter<string>(budgets)]) {
    assert.deepEqual(limiter.budgets.map(({ kind }) => kind), ["window", "bucket"]);
  }
});

test("bucket: a burst of its limit, then even starts in order", () =>
  withFakeTime(async (time) => {
    const api = new RateLimiter(4, 100, { kind });
    assert.equal(api.tryAcquire(4), true);
    assert.deepEqual([api.remaining, api.retryAfter(), api.retryAfter(4)], [0, 25, 100]);
    const waits = [1, 2, 1].map((permits) => watch(api.acquire({ permits })));
    await time.pass(24, 1);
    assert.equal(await states(waits), "pending pending pending");
    await time.pass(1, 1);
    assert.equal(await states(waits), "fulfilled pending pending");
    await time.pass(49, 1);
    assert.equal(await states(waits), "fulfilled pending pending");
    await time.pass(1, 1);
    assert.equal(await states(waits), "fulfilled fulfilled pending");
    await time.pass(25, 1);
    assert.equal(await states(waits), "fulfilled fulfilled fulfilled");
    await time.pass(250, 1);
    assert.equal(api.remaining, 4, "a full bucket gets no more");
    assertSound(api);
  }));

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

test("bucket: reward gives back what is missing at most, penalty takes it below zero", () =>
  withFakeTime(async (time) => {
    const api = new RateLimiter(4, 100, { kind });
    api.tryAcquire(3);
    api.penalty(5);
    assert.deepEqual([api.remaining, api.retryAfter()], [0, 125]);
    api.reward(3);
    assert.deepEqual([api.remaining, api.retryAfter()], [0, 50]);
    api.reward(1000);
    assert.equal(api.remaining, 4);
    api.tryAcquire(4);
    time.advance(60);
    assert.equal(api.remaining, 2);
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

test("bucket: block, cancel and mixed kinds", () =>
  withFakeTime(async (time) => {
    const api = new RateLimiter([{ limit: 2, interval: 100, kind }, { limit: 3, interval: 1000 }]);
    const waits = [1, 2, 3, 4].map(() => watch(api.acquire()));
    assert.equal(await states(waits), "fulfilled fulfilled pending pending");
    api.block(80);
    await time.pass(79, 1);
    assert.equal(await states(waits), "fulfilled fulfilled pending pending");
    await time.pass(1, 1);
    assert.equal(await states(waits), "fulfilled fulfilled fulfilled pending");
    assert.equal(api.retryAfter(), 920, "the window has two more then");
    await time.pass(920, 1);
    assert.equal(await states(waits), "fulfilled fulfilled fulfilled fulfilled");
    assert.deepEqual(api.budgets.map(({ remaining }) => remaining), [1, 1]);
    const last = watch(api.acquire({ permits: [2, 1] }));
    api.cancel("enough");
    assert.equal(await states([last]), "rejected");
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

test("bucket: as the rate of a pool", () =>
  withFakeTime(async (time) => {
    const pool = new Pool(10, { rate: new RateLimiter(2, 100, { kind }) });
    const calls = [1, 2, 3, 4].map((n) => watch(pool.run(() => n)));
    assert.equal(await states(calls), "fulfilled fulfilled pending pending");
    await time.pass(50, 1);
    assert.equal(await states(calls), "fulfilled fulfilled fulfilled pending");
    await time.pass(50, 1);
    assert.equal(await states(calls), "fulfilled fulfilled fulfilled fulfilled");
    await pool.join();
  }));

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
