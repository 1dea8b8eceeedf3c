/** Pool.map: back-pressure at both ends, order, buffers, pauses. */
import assert from "node:assert/strict";
import { type MapResults, Pool } from "../../mod.ts";
import { assertSoundPool } from "../sound/pool/pool.ts";
import { test } from "../_test.ts";
import { deferred, flushMicrotasks, watch } from "../_tools.ts";
import { collect, slow, source } from "./_sources.ts";

test("Pool.map: unordered results come as they are ready", async () => {
  await using pool = new Pool(3);
  const opened: (() => void)[] = [];
  const results = pool.map([0, 1, 2], (n) => new Promise<number>((resolve) => opened[n] = () => resolve(n)), {
    ordered: false,
  });
  const first = results.next();
  await flushMicrotasks();
  opened[2]!();
  assert.equal((await first).value, 2);
  opened[0]!();
  assert.equal((await results.next()).value, 0);
  opened[1]!();
  assert.equal((await results.next()).value, 1);
  assert.equal((await results.next()).done, true);
});

test("Pool.map: pulls nothing before the first read, and only as the reader reads", async () => {
  await using pool = new Pool(4);
  const { state, items } = source(1000);
  const results = pool.map(items(), (n) => n);
  await flushMicrotasks();
  assert.equal(state.pulled, 0);
  for (let read = 1; read <= 50; read++) {
    assert.equal((await results.next()).value, read - 1);
    await flushMicrotasks();
    assert.equal(state.pulled - read, 4); // not only when the reader finds no result
  }
  await results.return!();
  assert.equal(state.closed, 1);
});

test("Pool.map: an asynchronous source works while the functions take all slots", async () => {
  for (const read of [collect, (map: MapResults<number>) => map.toArray()]) {
    const { state, items, fn, run } = slow(300, 300, 4);
    const pool = new Pool(1);
    assert.deepEqual(await run(read(pool.map(items, fn))), [1, 2, 3, 4]);
    assert.deepEqual([state.most, state.last <= 1510], [1, true], `${state.last} turns`);
    await pool.join();
  }
});

test("Pool.map: one item is asked for ahead, no more, while all slots are taken or the pool is paused", async () => {
  const { state, items } = slow(0, 0, 10);
  const pool = new Pool(2);
  const gate = deferred();
  const map = pool.map(items, async (n) => {
    await gate.promise;
    return n;
  });
  const read = watch(map.next());
  await flushMicrotasks();
  assert.deepEqual([state.asked, pool.active], [3, 2]);
  pool.limit = 0;
  gate.resolve();
  await flushMicrotasks();
  assert.deepEqual([state.asked, pool.active, read.value?.value], [3, 0, 1]);
  await map.return!();
  await pool.join();
});

test("Pool.map: buffer bounds what is ahead of the reader, finished or in the making; it is never below the limit", async () => {
  for (const [limit, buffer, ahead] of [[2, 5, 5], [4, 1, 4], [4, undefined, 4], [3, 3, 3], [2, 100, 100]] as const) {
    for (const ordered of [true, false]) {
      await using pool = new Pool(limit);
      const { state, items } = source(1000);
      let running = 0, most = 0;
      const results = pool.map(items(), async (n) => {
        most = Math.max(most, ++running);
        await Promise.resolve();
        running--;
        return n;
      }, { ordered, ...(buffer === undefined ? {} : { buffer }) });
      for (let read = 1; read <= 120; read++) {
        await results.next();
        for (let i = 0; i < 4; i++) await flushMicrotasks();
        assertSoundPool(pool);
        assert.ok(state.pulled - read <= ahead, `${state.pulled} pulled, ${read} read, buffer ${buffer}`);
        if (read === 1) assert.equal(state.pulled, 1 + ahead);
        assert.ok(most <= limit);
      }
      await results.return!();
    }
  }
});

test("Pool.map: buffer Infinity has no back-pressure", async () => {
  await using pool = new Pool(2);
  const { state, items } = source(1000);
  const results = pool.map(items(), (n) => Promise.resolve(n), { buffer: Infinity });
  assert.equal((await results.next()).value, 0);
  for (let i = 0; i < 200; i++) await flushMicrotasks();
  assert.equal(state.pulled, 1000);
  const rest: number[] = [];
  for await (const n of results) rest.push(n);
  assert.deepEqual(rest, Array.from({ length: 999 }, (_, i) => i + 1));
});

test("Pool.map: toArray gives all results in the order of the items, whatever ordered is, without back-pressure", async () => {
  for (const ordered of [true, false]) {
    for (const already of [0, 1]) {
      await using pool = new Pool(3);
      const { state, items } = source(50);
      const finish: (() => void)[] = [];
      const map = pool.map(
        items(),
        (n) => n === 4 ? new Promise<number>((resolve) => finish.push(() => resolve(n))) : n,
        {
          ordered,
          buffer: 4,
        },
      );
      for (let read = 0; read < already; read++) assert.equal((await map.next()).value, read);
      const all = map.toArray();
      for (let i = 0; i < 20; i++) await flushMicrotasks();
      assert.deepEqual([state.pulled, pool.active], [50, 1]);
      finish[0]!();
      assert.deepEqual(await all, Array.from({ length: 50 - already }, (_, i) => i + already));
      assert.deepEqual(await map.toArray(), []);
      assert.equal((await map.next()).done, true);
    }
  }
});

test("Pool.map: toArray sorts results that were ready before it in another order", async () => {
  await using pool = new Pool(4);
  const finish: (() => void)[] = [];
  const map = pool.map([0, 1, 2, 3, 4, 5], (n) => new Promise<number>((done) => finish[n] = () => done(n)), {
    ordered: false,
  });
  const first = map.next();
  await flushMicrotasks();
  for (const n of [3, 2, 1]) finish[n]!();
  assert.equal((await first).value, 3);
  await flushMicrotasks();
  const rest = map.toArray();
  await flushMicrotasks();
  for (const n of [5, 4, 0]) finish[n]!();
  assert.deepEqual(await rest, [0, 1, 2, 4, 5]);
});

test("Pool.map: a map of a paused pool is queued once, with one item, and goes on when the limit is raised", async () => {
  await using pool = new Pool(2);
  pool.limit = 0;
  const { state, items } = source(5);
  const all = pool.map(items(), (n) => n).toArray();
  await flushMicrotasks();
  assert.deepEqual([state.pulled, pool.waiting, pool.active], [1, 1, 0]);
  pool.limit = 2;
  assert.deepEqual(await all, [0, 1, 2, 3, 4]);
});

test("Pool.map: the limit is raised while it runs", async () => {
  await using pool = new Pool(1);
  const { state, items } = source(10);
  const finish: (() => void)[] = [];
  const all = pool.map(items(), (n) => new Promise<number>((resolve) => finish.push(() => resolve(n)))).toArray();
  await flushMicrotasks();
  assert.deepEqual([state.pulled, pool.active], [1, 1]);
  pool.limit = Infinity;
  await flushMicrotasks();
  assert.deepEqual([state.pulled, pool.active], [10, 10]);
  for (const end of finish) end();
  await all;
});

test("Pool.map: wrong arguments throw at once", () => {
  const pool = new Pool(1);
  for (const wrong of [undefined, null, 5, {}]) assert.throws(() => pool.map(wrong as never, (n) => n), TypeError);
  for (const wrong of [undefined, null, 5]) assert.throws(() => pool.map([1], wrong as never), TypeError);
  assert.throws(() => pool.map(Promise.resolve([1]) as never, (n) => n), /^TypeError: source .*await it first/);
  for (const generator of [function* () {}, async function* () {}] as (() => unknown)[]) {
    assert.throws(() => pool.map([1], generator), /^TypeError: fn must not be a generator function/);
  }
  for (const wrong of [null, 5, { ordered: 1 }, { signal: {} }, { buffer: "5" }, { buffer: null }]) {
    assert.throws(() => pool.map([1], (n) => n, wrong as never), TypeError);
  }
  for (const buffer of [0, -1, 1.5, NaN, -Infinity]) {
    assert.throws(
      () => pool.map([1], (n) => n, { buffer }),
      /^RangeError: buffer must be a whole number of 1 or more, or Infinity, got/,
    );
  }
});
