import assert from "node:assert/strict";
import { KeyedRateLimiter, QueueFullError, TimeoutError } from "../mod.ts";
import { assertSoundKeyedRateLimiter } from "./sound/keyed_rate_limiter.ts";
import { observe } from "../lib/diagnostics/mod.ts";
import { test } from "./_test.ts";
import { flushMicrotasks, refusesBadOptions, states, watch, withFakeTime } from "./_tools.ts";

test("keyed rate limiter: each key has a window of its own, and entries live while a start lies within it", () =>
  withFakeTime(async (time) => {
    const users = new KeyedRateLimiter<string>(2, 100, { name: "users" });
    assert.deepEqual([users.tryAcquire("a"), users.tryAcquire("a"), users.tryAcquire("a")], [true, true, false]);
    time.advance(50);
    assert.equal(users.tryAcquire("b", 2), true);
    assert.deepEqual([users.retryAfter("a"), users.retryAfter("b"), users.retryAfter("c")], [50, 100, 0]);
    assert.equal(users.size, 2);
    time.advance(50);
    assert.deepEqual([users.size, users.retryAfter("a")], [1, 0]);
    time.advance(49);
    assert.equal(users.size, 1);
    assert.equal(time.timers, 0, "a few keys need none");
    time.advance(1);
    assert.deepEqual([users.size, time.timers], [0, 0]);
    await flushMicrotasks();
  }));

test("keyed rate limiter: refused calls leave no entry", async () => {
  const users = new KeyedRateLimiter<string>(2, 100);
  await refusesBadOptions((options) => users.acquire("a", options));
  for (const permits of [0, 3, NaN]) {
    await assert.rejects(users.acquire("a", { permits }), RangeError);
    assert.throws(() => users.tryAcquire("a", permits), RangeError);
    assert.throws(() => users.retryAfter("a", permits), RangeError);
  }
  assert.throws(() => users.tryAcquire("a", "1" as never), TypeError);
  await assert.rejects(users.acquire("a", { signal: AbortSignal.abort("gone") }), (reason) => reason === "gone");
  await assert.rejects(users.run("a", 5 as never), TypeError);
  assert.equal(users.size, 0);
  assert.throws(() => new KeyedRateLimiter("1" as never, 1), TypeError);
  assert.throws(() => new KeyedRateLimiter(1, 1, { maxWaiting: -1 }), RangeError);
});

test("keyed rate limiter: maxWaiting is per key, and messages name the key", () =>
  withFakeTime(async (time) => {
    const users = new KeyedRateLimiter<unknown>(1, 100, { name: "users", maxWaiting: 1 });
    users.tryAcquire(42);
    const first = watch(users.acquire(42, { timeout: 10 }));
    await assert.rejects(users.acquire(42), (error: Error) => {
      assert.equal(error.message, 'Cannot acquire rate limiter "users" for key 42: 1 call is waiting already');
      return error instanceof QueueFullError;
    });
    await users.acquire("other");
    time.advance(10);
    await flushMicrotasks();
    assert.ok(first.reason instanceof TimeoutError);
    assert.equal(
      (first.reason as Error).message,
      'Cannot acquire rate limiter "users" for key 42: timed out after 10 ms',
    );
    await assert.rejects(users.acquire(42, { timeout: 0 }), TimeoutError);
    time.advance(100);
    assert.equal(users.size, 0);
  }));

test("keyed rate limiter: an observer of a time-out at the end of the window that starts anew: the start counts", () =>
  withFakeTime(async (time) => {
    const users = new KeyedRateLimiter<string>(1, 100);
    users.tryAcquire("a");
    const starts: boolean[] = [];
    using _ = observe({ giveUp: () => void (users.size >= 0 && starts.push(users.tryAcquire("a"))) });
    const waiting = watch(users.acquire("a", { timeout: 100 }));
    time.advance(100);
    assert.equal(await states([waiting]), "rejected");
    assert.deepEqual([starts, users.tryAcquire("a"), users.size], [[true], false, 1]);
    assertSoundKeyedRateLimiter(users);
    time.advance(100);
    assert.equal(users.size, 0);
  }));

test("keyed rate limiter: one timer removes the idle keys of many, a few have none", () =>
  withFakeTime(async (time) => {
    const users = new KeyedRateLimiter<number>(5, 100);
    const start = (count: number) => {
      for (let key = 0; key < count; key++) users.tryAcquire(key);
    };
    start(64);
    assert.equal(users.retryAfter(64), 0);
    assert.equal(time.timers, 0, "a question leaves no key");
    start(65);
    assert.equal(time.timers, 1);
    time.advance(50);
    start(1000);
    assert.equal(time.timers, 1);
    time.advance(50);
    assert.equal(time.timers, 1, "keys that are still in use");
    time.advance(100);
    assert.equal(time.timers, 0);
    await flushMicrotasks();
  }));

test("keyed rate limiter: a key is kept while a granted call has not gone on, however long the turn takes", async () => {
  const starts: number[] = [];
  const limiter = new KeyedRateLimiter<string>(1, 20);
  const start = () => limiter.acquire("a").then(() => void starts.push(performance.now()));
  const first = start();
  for (const end = performance.now() + 30; performance.now() < end;);
  assert.equal(limiter.size, 1);
  await Promise.all([first, start()]);
  assert.ok(starts[1]! - starts[0]! >= 20, `${starts}`);
});
