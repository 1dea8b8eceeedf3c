/** Priorities of the calls that wait for a slot. */
import assert from "node:assert/strict";
import { Pool, RateLimiter, type TaskOptions } from "../../mod.ts";
import { test } from "../_test.ts";
import { deferred, flushMicrotasks, type Random, seeded, watch } from "../_tools.ts";

/** A pool with one slot that is taken until `free` is called, and the order in which others run. */
function taken(options = {}) {
  const pool = new Pool(1, options);
  const { promise, resolve } = deferred();
  const order: unknown[] = [];
  const running = pool.run(() => promise);
  const run = (id: unknown, options?: TaskOptions) => watch(pool.run(() => void order.push(id), options));
  const free = async () => {
    resolve();
    await running;
    await pool.join();
  };
  return { pool, order, run, free };
}

test("Pool: greater priorities first, first come, first served among equals", async () => {
  const { pool, order, run, free } = taken();
  for (const [id, priority] of [["a", 0], ["b", 5], ["c", -1], ["d", 5], ["e", undefined], ["f", 0.5]] as const) {
    run(id, { priority });
  }
  const task = watch(pool.createTask(() => void order.push("task"), { priority: 9 }));
  assert.equal(pool.waiting, 7);
  await free();
  await task.value!.result;
  assert.deepEqual(order, ["task", "b", "d", "f", "a", "e", "c"]);
});

test("Pool: a map counts as 0 unless its option says otherwise", async () => {
  const { pool, order, run, free } = taken();
  const note = (text: string) => void order.push(text);
  run("before");
  const usual = pool.map(["usual"], note).toArray();
  const high = pool.map(["high"], note, { priority: 2 }).toArray();
  await flushMicrotasks();
  run("after");
  run("above", { priority: 1 });
  await free();
  await Promise.all([usual, high]);
  assert.deepEqual(order, ["high", "above", "before", "usual", "after"]);
});

for (const size of [1, 2]) {
  test(`Pool: a map that has ${size} of ${size} slots comes before calls of lower priority with each item`, async () => {
    const pool = new Pool(size);
    const order: unknown[] = [];
    const ends: (() => void)[] = [];
    const work = (id: unknown) => {
      order.push(id);
      return new Promise<void>((resolve) => ends.push(resolve));
    };
    const calls: Promise<unknown>[] = Array.from({ length: size }, () => pool.run(() => work("first")));
    calls.push(pool.map([1, 2, 3, 4], work).toArray());
    await flushMicrotasks(); // its first item waits
    for (const id of ["low", "lower"]) calls.push(pool.run(() => work(id), { priority: -id.length }));
    for (const id of ["equal", "equal, too"]) calls.push(pool.run(() => work(id)));
    for (let i = 0; i < size + 8; i++) { // one after the other
      await flushMicrotasks();
      ends.shift()!();
    }
    await Promise.all(calls);
    const firsts = Array.from({ length: size }, () => "first");
    assert.deepEqual(order, [...firsts, 1, "equal", "equal, too", 2, 3, 4, "low", "lower"]);
    await pool.join();
  });
}

test("Pool: a map of synchronous functions comes before calls of lower priority with each item", async () => {
  const { pool, order, run, free } = taken();
  const map = pool.map([1, 2, 3], (id) => void order.push(id)).toArray();
  run("low", { priority: -1 });
  await free();
  await map;
  assert.deepEqual(order, [1, 2, 3, "low"]);
});

test("Pool: with a rate, a start goes to the greatest priority that waits then", async () => {
  const rate = new RateLimiter(1, 15);
  const pool = new Pool(5, { rate });
  const order: number[] = [];
  const calls = [1, 2, 3].map((priority) => pool.run(() => void order.push(priority), { priority }));
  await Promise.all(calls);
  assert.deepEqual(order, [1, 3, 2]);
  await pool.join();
});

test("Pool: cancel rejects in the order in which the calls would be served", async () => {
  const pool = new Pool(1);
  const order: string[] = [];
  const { promise, resolve } = deferred();
  const running = pool.run(() => promise);
  await flushMicrotasks();
  const queue = (name: string, priority: number) => pool.run(() => {}, { priority }).catch(() => void order.push(name));
  const calls = [queue("low", -1), queue("first", 0), queue("high", 2), queue("second", 0), queue("higher", 3)];
  pool.cancel("over");
  await Promise.all(calls);
  assert.deepEqual(order, ["higher", "high", "first", "second", "low"]);
  resolve();
  await running;
});

test("Pool: a priority is a finite number", async () => {
  const pool = new Pool(1);
  for (const priority of [NaN, Infinity, -Infinity]) {
    await assert.rejects(pool.run(() => {}, { priority }), RangeError);
    await assert.rejects(pool.createTask(() => {}, { priority }), RangeError);
    assert.throws(() => pool.map([1], () => {}, { priority }), RangeError);
  }
  for (const priority of ["1", null, 1n]) {
    await assert.rejects(pool.run(() => {}, { priority: priority as never }), TypeError);
  }
  pool.close();
  await assert.rejects(pool.run(() => {}, { priority: NaN }), RangeError);
});

test("Pool: random priorities and cancellations are served as a sorted list is", () =>
  seeded(async (random: Random) => {
    for (let round = 0; round < 30; round++) {
      const { order, run, free } = taken();
      const controllers: AbortController[] = [];
      const waits = Array.from({ length: 40 }, (_, id) => {
        const priority = random.below(7) - 3;
        const controller = controllers[id] = new AbortController();
        run(id, { priority, signal: controller.signal });
        return { id, priority };
      });
      const gone = new Set(Array.from({ length: 15 }, () => random.below(40)));
      for (const id of gone) controllers[id]!.abort();
      await free();
      const left = waits.filter(({ id }) => !gone.has(id)).sort((a, b) => b.priority - a.priority || a.id - b.id);
      assert.deepEqual(order, left.map(({ id }) => id));
    }
  }));
