/** Pool with a rate: a function starts when there is both a slot and a start allowed by the limiter. */
import assert from "node:assert/strict";
import { Pool, RateLimiter } from "../../mod.ts";
import { assertSoundPool } from "../sound/pool/pool.ts";
import { test } from "../_test.ts";
import {
  CountingController,
  flushMicrotasks,
  rejectsWith,
  states,
  watch,
  type Watched,
  withFakeTime,
} from "../_tools.ts";

/** How many starts the limiter allows now; uses them up. */
function left(rate: RateLimiter): number {
  let starts = 0;
  while (rate.tryAcquire()) starts++;
  return starts;
}

test("Pool, rate: run, createTask and map start in order, as the limiter allows", () =>
  withFakeTime(async (time) => {
    const rate = new RateLimiter(2, 100);
    const pool = new Pool(5, { rate });
    const starts: string[] = [];
    const start = (name: string) => () => void starts.push(`${name} ${performance.now()}`);
    const calls = [
      pool.run(start("run")),
      pool.createTask(start("task")).then((task) => task.result),
      pool.run(start("second run")),
      pool.createTask(start("second task")).then((task) => task.result),
    ];
    await flushMicrotasks();
    const items = pool.map([0, 1], (n) => start(`item ${n}`)()).toArray();
    await flushMicrotasks();
    assert.deepEqual([pool.active, pool.waiting, rate.waiting], [0, 3, 1]);
    await time.pass(300);
    await Promise.all([...calls, items]);
    assert.deepEqual(starts, ["run 0", "task 0", "second run 100", "second task 100", "item 0 200", "item 1 200"]);
  }));

test("Pool, rate: a call that waits for a slot uses no start up", () =>
  withFakeTime(async (time) => {
    const rate = new RateLimiter(10, 100);
    const pool = new Pool(1, { rate });
    let finish = () => {};
    const running = pool.run(() => new Promise<void>((resolve) => finish = resolve));
    await flushMicrotasks();
    const queued = pool.run(() => performance.now());
    await flushMicrotasks();
    assert.deepEqual([pool.waiting, rate.waiting], [1, 0]);
    await time.pass(50);
    finish();
    await running;
    assert.equal(await queued, 50);
    assert.equal(left(rate), 8);
  }));

test("Pool, rate: a cancelled waiter uses no start up, at the head and in the middle, before and after the grant", () =>
  withFakeTime(async (time) => {
    for (const gone of [[0], [1], [2], [0, 1], [1, 2], [0, 1, 2]]) {
      for (const how of ["abort before", "abort after", "timeout"]) {
        const rate = new RateLimiter(3, 100);
        const pool = new Pool(5, { rate });
        assert.equal(left(rate), 3);
        const controllers = [0, 1, 2].map(() => new CountingController());
        const started: number[] = [];
        const calls = controllers.map(({ signal }, i) => {
          const timeout = how === "timeout" && gone.includes(i) ? 50 : Infinity;
          return watch(pool.run(() => started.push(i), { signal, timeout }));
        });
        await flushMicrotasks();
        if (how === "timeout") time.advance(50);
        const abort = () => gone.forEach((i) => controllers[i]!.abort("no"));
        if (how === "abort before") abort();
        await flushMicrotasks();
        if (gone.length === 3 && how !== "abort after") assert.deepEqual([rate.waiting, time.timers], [0, 0]);
        time.advance(how === "timeout" ? 50 : 100);
        if (how === "abort after") abort(); // the slots are granted, the functions not called yet
        await flushMicrotasks();
        const expected = [0, 1, 2].filter((i) => !gone.includes(i));
        assert.deepEqual(started, expected);
        assert.deepEqual(calls.map(({ state }) => state === "fulfilled"), [0, 1, 2].map((i) => !gone.includes(i)));
        if (how !== "abort after") assert.equal(left(rate), 3 - expected.length, `${how} ${gone}`);
        assert.deepEqual([pool.active, pool.waiting, rate.waiting], [0, 0, 0]);
        assert.deepEqual(controllers.map(({ listeners }) => listeners), [0, 0, 0]);
        time.advance(1000);
      }
    }
  }));

test("Pool, rate: a map uses one start for each item, none for the end of its source", () =>
  withFakeTime(async (time) => {
    async function* later() {
      for (const n of [0, 1]) yield await Promise.resolve(n);
    }
    for (const make of [() => [0, 1], later, () => [Promise.resolve(0), Promise.resolve(1)]]) {
      const rate = new RateLimiter(3, 100);
      const pool = new Pool(5, { rate });
      assert.deepEqual(await pool.map(make() as Iterable<number>, (n) => n).toArray(), [0, 1]);
      assert.equal(left(rate), 1);
      const stopped = pool.map(make() as Iterable<number>, (n) => n);
      const read = watch(stopped.next());
      await flushMicrotasks();
      await stopped.return!();
      assert.equal((await read.promise).done, true);
      assert.deepEqual([rate.waiting, time.timers, pool.waiting, pool.active], [0, 0, 0, 0]);
      time.advance(100);
      assert.equal(left(rate), 3);
    }
  }));

test("Pool, rate: close serves the calls that wait for the limiter, cancel rejects them, join waits", () =>
  withFakeTime(async (time) => {
    for (const how of ["close", "cancel"] as const) {
      const rate = new RateLimiter(1, 100);
      const pool = new Pool(5, { rate });
      const calls = [0, 1, 2].map((n) => watch(pool.run(() => n)));
      await flushMicrotasks();
      const joined = watch(pool.join());
      pool[how]("stop");
      const [, second, third] = calls;
      if (how === "close") {
        assert.equal(await states([...calls, joined]), "fulfilled pending pending pending");
        await time.pass(200);
        assert.equal(await states([...calls, joined]), "fulfilled fulfilled fulfilled fulfilled");
      } else {
        assert.equal(await states([...calls, joined]), "fulfilled rejected rejected fulfilled");
        assert.deepEqual([second!.reason, third!.reason], ["stop", "stop"]);
        assert.deepEqual([rate.waiting, time.timers], [0, 0]);
      }
    }
  }));

test("Pool, rate: a paused pool leaves the limiter's queue, and joins it again when it goes on", () =>
  withFakeTime(async (time) => {
    const rate = new RateLimiter(1, 100);
    const pool = new Pool(2, { rate });
    const starts: number[] = [];
    const calls = [0, 1].map(() => pool.run(() => starts.push(performance.now())));
    await flushMicrotasks();
    assert.equal(rate.waiting, 1);
    pool.limit = 0;
    assert.deepEqual([rate.waiting, time.timers], [0, 0]);
    await time.pass(200);
    assert.deepEqual([starts, rate.tryAcquire()], [[0], true]);
    pool.limit = Infinity;
    assert.equal(rate.waiting, 1);
    await time.pass(100);
    await Promise.all(calls);
    assert.deepEqual(starts, [0, 300]);
  }));

test("Pool, rate: pools and callers that share a limiter take turns", () =>
  withFakeTime(async (time) => {
    const rate = new RateLimiter(1, 100);
    const pools = [new Pool(2, { rate }), new Pool(2, { rate })];
    const order: string[] = [];
    const all = [
      ...pools.flatMap((pool, p) => [0, 1].map((n) => pool.run(() => order.push(`${p}.${n}`)))),
      rate.run(() => order.push("caller")),
    ];
    await flushMicrotasks();
    await time.pass(500);
    await Promise.all(all);
    assert.deepEqual(order, ["0.0", "0.1", "1.0", "caller", "1.1"]);
  }));

test("Pool, rate: the limiter can be replaced by nothing else", async () => {
  for (const rate of [null, 5, {}, new Pool(1), { tryAcquire: () => true, acquire: () => {} }]) {
    const make = () => new Pool(1, { rate } as never);
    assert.throws(make, /^TypeError: rate must be a RateLimiter \(.*\), got/);
  }
  assert.throws(
    () => new Pool(1, new RateLimiter(1, 1) as never),
    new TypeError("options must not be a RateLimiter: pass { rate }, got an object (RateLimiter)"),
  );
  const pool = new Pool(1, { rate: new RateLimiter(1, 1) });
  const reason = new Error("no");
  await rejectsWith(pool.run(() => 1, { signal: AbortSignal.abort(reason) }), reason);
});

test("Pool, rate: permits are starts of the limiter, of each of its budgets in a list", () =>
  withFakeTime(async (time) => {
    const rate = new RateLimiter([{ limit: 4, interval: 100 }, { limit: 1000, interval: 100 }]);
    const pool = new Pool(5, { rate });
    const order: string[] = [];
    const run = (name: string, permits?: number | readonly number[]) =>
      watch(pool.run(() => void order.push(name), { permits }));
    const calls: Watched<unknown>[] = [run("one", [1, 600]), run("two", [1, 600]), run("three", [1, 100])];
    await flushMicrotasks();
    assert.deepEqual([order, pool.waiting], [["one"], 2]); // the second budget is over; a small call does not overtake
    await time.pass(100);
    assert.deepEqual(order, ["one", "two", "three"]);
    calls.push(run("four", 2), watch(pool.createTask(() => void order.push("five"), { permits: 4 })), run("six"));
    await flushMicrotasks();
    assert.deepEqual(order, ["one", "two", "three", "four"]);
    await time.pass(200);
    assert.deepEqual(order, ["one", "two", "three", "four", "five", "six"]);
    assert.ok(calls.every(({ state }) => state === "fulfilled"));
    assertSoundPool(pool);
    await pool.join();
  }));

test("Pool, rate: the starts that are waited for are those of the first call, also when another one becomes the first", () =>
  withFakeTime(async (time) => {
    for (const how of ["cancelled", "overtaken"]) {
      const rate = new RateLimiter([{ limit: 2, interval: 100 }, { limit: 10, interval: 100 }]);
      const pool = new Pool(5, { rate });
      const order: string[] = [];
      await pool.run(() => {}, { permits: 2 });
      const controller = new AbortController();
      const first = pool.run(() => void order.push("first"), { permits: [2, 9], signal: controller.signal });
      const others = [1, 2].map((n) => pool.run(() => void order.push(`other ${n}`), { permits: [1, 1] }));
      if (how === "cancelled") controller.abort("gone");
      else others.push(pool.run(() => void order.push("urgent"), { priority: 1, permits: [1, 1] }));
      assertSoundPool(pool);
      const settled = first.catch((error) => assert.equal(error, "gone"));
      await time.pass(400);
      await Promise.all([settled, ...others]);
      assert.deepEqual(order, how === "cancelled" ? ["other 1", "other 2"] : ["urgent", "first", "other 1", "other 2"]);
      assert.equal(rate.waiting, 0);
      await pool.join();
    }
  }));

test("Pool, rate: permits are checked, and are for a pool with a rate only", async () => {
  const pool = new Pool(1, { rate: new RateLimiter([{ limit: 2, interval: 100 }, { limit: 9, interval: 100 }]) });
  for (const permits of [0, 3, 1.5, NaN, [1], [1, 10], [0, 0], [1, -1]]) {
    await assert.rejects(pool.run(() => {}, { permits }), RangeError, `${permits}`);
  }
  for (const permits of ["1", null, [1, "1"], {}]) {
    await assert.rejects(pool.createTask(() => {}, { permits: permits as never }), TypeError);
  }
  await assert.rejects(new Pool(1).run(() => {}, { permits: 1 }), /^TypeError: permits must be left out in a pool/);
  assert.deepEqual([pool.active, pool.waiting], [0, 0]);
});
