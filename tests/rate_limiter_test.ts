/** RateLimiter: its one timer, turns of the event loop, and clocks. The walks have windows, order and cancellation. */
import assert from "node:assert/strict";
import { RateLimiter, TimeoutError } from "../mod.ts";
import { ForeignSignal } from "./_foreign_signal.ts";
import { test } from "./_test.ts";
import { CountingController, flushMicrotasks, nextTurn, seeded, states, watch, withFakeTime } from "./_tools.ts";

test("RateLimiter: the timer goes with the last waiter", () =>
  withFakeTime(async (time) => {
    const limiter = new RateLimiter(1, 100);
    limiter.tryAcquire();
    const controller = new CountingController();
    const waiters = [1, 2, 3].map(() => watch(limiter.acquire({ signal: controller.signal })));
    assert.deepEqual([time.timers, time.started], [1, 1]);
    controller.abort();
    assert.equal(time.timers, 0);
    assert.equal(await states(waiters), "rejected rejected rejected");
  }));

test("RateLimiter: timeout 0 starts at once or not at all", () =>
  withFakeTime(async (time) => {
    const limiter = new RateLimiter(1, 100);
    await limiter.acquire({ timeout: 0 });
    await assert.rejects(limiter.acquire({ timeout: 0 }), TimeoutError);
    assert.equal(time.timers, 0);
    time.advance(100);
    await limiter.acquire({ timeout: 0 });
  }));

test("RateLimiter: bad arguments are refused", async () => {
  for (const [limit, interval] of [["1", 1], [1, "1"], [undefined, 1], [1, undefined], [1n, 1]]) {
    assert.throws(() => new RateLimiter(limit as never, interval as never), TypeError);
  }
  for (const [limit, interval] of [[0, 1], [1.5, 1], [1, 0], [1, Infinity]] as const) {
    assert.throws(() => new RateLimiter(limit, interval), RangeError);
  }
  await assert.rejects(new RateLimiter(2, 60_000).run(5 as never), TypeError);
});

/** Keeps the event loop busy: a long turn. */
function pass(ms: number): void {
  for (const end = performance.now() + ms; performance.now() <= end;);
}

test("RateLimiter: by the real clock, starts are an interval apart", async () => {
  const limiter = new RateLimiter(1, 7);
  const starts: number[] = [];
  await Promise.all(Array.from({ length: 10 }, () => limiter.run(() => starts.push(performance.now()))));
  for (let i = 1; i < starts.length; i++) assert.ok(starts[i]! - starts[i - 1]! >= 7, `start ${i}`);
  await nextTurn();
});

test("RateLimiter: the start of a call is the moment at which its caller goes on", async () => {
  const limiter = new RateLimiter(1, 40);
  const first = limiter.acquire().then(() => performance.now());
  pass(20);
  await limiter.acquire();
  assert.ok(performance.now() - await first >= 40);
});

test("RateLimiter: the start of a call that has waited is the moment at which its caller goes on, too", async () => {
  const limiter = new RateLimiter(1, 40);
  limiter.tryAcquire();
  const first = limiter.acquire().then(() => performance.now());
  limiter.reward(); // grants it
  pass(20);
  await limiter.acquire();
  assert.ok(performance.now() - await first >= 40);
});

test("RateLimiter: a turn longer than the interval starts no more at its end", async () => {
  const limiter = new RateLimiter(1, 20);
  assert.equal(limiter.tryAcquire(), true);
  pass(25);
  const first = limiter.acquire().then(() => performance.now());
  pass(25);
  assert.equal(limiter.tryAcquire(), false, "the call before has not gone on yet");
  const second = limiter.acquire().then(() => performance.now());
  assert.ok(await second - await first >= 20);
});

test("RateLimiter: a start by tryAcquire counts from its call, even in a turn that goes on", () => {
  const limiter = new RateLimiter(1, 10);
  assert.equal(limiter.tryAcquire(), true);
  pass(10);
  assert.equal(limiter.tryAcquire(), true);
});

test("RateLimiter: a clock that goes back neither blocks it nor lets more start", () =>
  withFakeTime(async (time) => {
    const limiter = new RateLimiter(1, 100);
    time.advance(10_000);
    limiter.tryAcquire();
    time.advance(-10_000);
    assert.equal(limiter.tryAcquire(), false);
    time.advance(99);
    assert.equal(limiter.tryAcquire(), false);
    time.advance(1);
    assert.equal(limiter.tryAcquire(), true);
    await flushMicrotasks();
  }));

test("RateLimiter: times with fractions are neither early nor late", () =>
  seeded((random) =>
    withFakeTime(async (time) => {
      for (let round = 0; round < 300; round++) {
        const limiter = new RateLimiter(1, 100);
        time.advance(random.below(1e9) / 1e8);
        assert.equal(limiter.tryAcquire(), true);
        time.advance(25);
        time.advance(25);
        const waits = watch(limiter.acquire());
        time.advance(49);
        assert.equal(await states([waits]), "pending");
        time.advance(1 + 1e-9);
        assert.equal(await states([waits]), "fulfilled");
        assert.equal(time.timers, 0);
      }
    })
  ));

test("RateLimiter: a timer that fires a part of a millisecond early, as in Node, starts nothing early", () =>
  withFakeTime(async (time) => {
    time.whole = true;
    time.advance(0.75);
    const limiter = new RateLimiter(1, 100);
    assert.equal(limiter.tryAcquire(), true);
    const waits = watch(limiter.acquire());
    time.advance(99.25);
    assert.equal(await states([waits]), "pending");
    time.advance(1);
    assert.equal(await states([waits]), "fulfilled");
  }));

test("RateLimiter: a start of this turn that is given back leaves the time of the one before", async () => {
  const limiter = new RateLimiter(2, 60_000);
  assert.equal(limiter.tryAcquire(), true);
  pass(20);
  const granted = limiter.acquire();
  limiter.reward();
  assert.ok(limiter.retryAfter(2) <= 59_981);
  await granted;
});

test("RateLimiter: a call that is granted while earlier ones are about to go on counts from when it goes on itself", async () => {
  const starts: number[] = [];
  const limiter = new RateLimiter(3, 50);
  const job = async (ms: number) => {
    await limiter.acquire();
    starts.push(performance.now());
    pass(ms);
  };
  const first = job(0);
  await null;
  await Promise.all([first, job(40), ...Array.from({ length: 4 }, () => job(0))]);
  for (let i = 3; i < starts.length; i++) assert.ok(starts[i]! - starts[i - 3]! >= 50, `${starts}`);
});

test("RateLimiter: a clock that cannot be read stays finite where the first waiter wants more than a lowered limit", async () => {
  const { setTimeout, clearTimeout } = globalThis;
  const timers: (() => void)[] = [];
  Object.assign(globalThis, { setTimeout: (fn: () => void) => timers.push(fn), clearTimeout() {} });
  try {
    const limiter = new RateLimiter(2, 1000);
    const first = new ForeignSignal();
    const stop = new AbortController();
    limiter.tryAcquire(2);
    const calls = [{ signal: first as never }, { permits: 2, signal: stop.signal }].map((options) =>
      watch(limiter.acquire(options))
    );
    limiter.limit = 1;
    first.abort(false); // noticed when its turn comes
    for (const fire of timers.splice(0)) fire();
    limiter.limit = 2;
    assert.deepEqual([limiter.tryAcquire(), limiter.retryAfter() > 0], [false, true]);
    stop.abort();
    for (const { promise } of calls) await promise.catch(() => {});
  } finally {
    Object.assign(globalThis, { setTimeout, clearTimeout });
  }
});

test("RateLimiter: retryAfter counts starts of a turn that still goes on from now", async () => {
  const limiter = new RateLimiter(1, 50);
  await limiter.acquire();
  pass(60);
  const wait = limiter.retryAfter();
  assert.equal(wait, 50);
  assert.equal(limiter.tryAcquire(), false);
});

test("RateLimiter: retryAfter takes no room for its permits", () =>
  assert.equal(new RateLimiter(1e9, 1000).retryAfter(150_000_000), 0));
