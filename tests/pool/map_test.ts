/** Pool.map: back-pressure at both ends, order, errors, leaving early. */
import assert from "node:assert/strict";
import { ClosedError, Pool } from "../../mod.ts";
import { test } from "../_test.ts";
import { CountingController, flushMicrotasks, nextTurn, rejectsWith, watch } from "../_tools.ts";

async function collect<R>(results: AsyncIterable<R>): Promise<R[]> {
  const all: R[] = [];
  for await (const one of results) all.push(one);
  return all;
}

/** Counts what is pulled, and tells when it is closed. */
function source(count: number) {
  const state = { pulled: 0, closed: 0 };
  function* items() {
    try {
      while (state.pulled < count) yield state.pulled++;
    } finally {
      state.closed++;
    }
  }
  return { state, items };
}

async function* later<T>(items: Iterable<T>) {
  for (const item of items) {
    await nextTurn();
    yield item;
  }
}

test("Pool.map: results in the order of the items, of any kind of source", async () => {
  await using pool = new Pool(3);
  const slowFirst = async (n: number, index: number, signal: AbortSignal) => {
    assert.equal(signal.aborted, false);
    assert.equal(n, index);
    for (let i = 10 - n; i > 0; i--) await flushMicrotasks();
    return n * 2;
  };
  const doubled = Array.from({ length: 10 }, (_, i) => 2 * i);
  const items = doubled.map((n) => n / 2);
  for (const given of [items, new Set(items), later(items), items.map((n) => Promise.resolve(n))]) {
    assert.deepEqual(await collect(pool.map(given as Iterable<number>, slowFirst)), doubled);
  }
  assert.deepEqual(await collect(pool.map([], slowFirst)), []);
  assert.deepEqual(await collect(pool.map("abc", (letter) => letter.toUpperCase())), ["A", "B", "C"]);
});

test("Pool.map: unordered gives results as they come", async () => {
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
    assert.ok(state.pulled - read <= 4, `${state.pulled} pulled, ${read} read`);
  }
  await results.return!();
  assert.equal(state.closed, 1);
});

test("Pool.map: no place stays empty while the reader waits for results", async () => {
  const pool = new Pool(8);
  const finish: (() => void)[] = [];
  const { state, items } = source(100);
  const results = pool.map(items(), (n) => new Promise<number>((resolve) => finish[n] = () => resolve(n)));
  for (let n = 0; n < 20; n++) {
    const read = results.next();
    await flushMicrotasks();
    assert.deepEqual([pool.active, state.pulled], [8, n + 8]);
    finish[n]!();
    assert.equal((await read).value, n);
  }
  const left = results.return!();
  for (const end of finish) end();
  await left;
});

test("Pool.map: never more at work than the pool has places, also shared with others", async () => {
  await using pool = new Pool(2);
  let inside = 0, most = 0;
  const work = async (n: number) => {
    most = Math.max(most, ++inside);
    await nextTurn();
    inside--;
    return n;
  };
  const [a, b] = await Promise.all([
    collect(pool.map([1, 2, 3, 4, 5], work)),
    collect(pool.map(later([6, 7, 8]), work)),
    pool.run(() => work(0)),
  ]);
  assert.deepEqual([a, b, most], [[1, 2, 3, 4, 5], [6, 7, 8], 2]);
});

test("Pool.map: the first error comes out bare; what runs is aborted and has ended; the source is closed", async () => {
  await using pool = new Pool(2);
  const { state, items } = source(100);
  const error = new Error("third item");
  let running = 0, aborted = 0;
  const results: number[] = [];
  await rejectsWith(
    (async () => {
      const map = pool.map(items(), async (n, _, signal) => {
        if (n === 2) throw error;
        running++;
        signal.addEventListener("abort", () => aborted++);
        for (let i = 0; i < 3 + n; i++) await nextTurn();
        running--;
        return n;
      });
      for await (const one of map) results.push(one);
    })(),
    error,
  );
  assert.deepEqual([running, state.closed, pool.active], [0, 1, 0]);
  assert.ok(aborted >= 1 && results.every((n, i) => n === i));
  await pool.join(); // the reader was told
});

test("Pool.map: a source that fails, before and after some items", async () => {
  await using pool = new Pool(2);
  const error = new Error("no more connection");
  function* failing() {
    yield 1;
    throw error;
  }
  const seen: number[] = [];
  await rejectsWith(
    (async () => {
      for await (const n of pool.map(failing(), (n) => n)) seen.push(n);
    })(),
    error,
  );
  await rejectsWith(collect(pool.map([Promise.reject(error)], (n) => n)), error);
  const broken = {
    [Symbol.iterator]: () => {
      throw error;
    },
  } as Iterable<number>;
  await rejectsWith(collect(pool.map(broken, (n) => n)), error);
});

test("Pool.map: leaving the loop aborts what still runs, waits for its end, and closes the source", async () => {
  await using pool = new Pool(3);
  const { state, items } = source(100);
  let running = 0, aborted = 0;
  for await (
    const n of pool.map(items(), async (n, _, signal) => {
      if (n === 0) return n;
      running++;
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      aborted++;
      await nextTurn();
      running--;
      return n;
    })
  ) {
    assert.equal(n, 0);
    break;
  }
  assert.deepEqual([running, state.closed, pool.active], [0, 1, 0]);
  assert.ok(aborted >= 1);
});

test("Pool.map: its signal ends it with the reason as it is", async () => {
  await using pool = new Pool(2);
  const controller = new CountingController();
  const { state, items } = source(100);
  const map = pool.map(
    items(),
    (_, __, signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    {
      signal: controller.signal,
    },
  );
  const read = watch(map.next());
  await flushMicrotasks();
  const reason = new Error("the user left");
  controller.abort(reason);
  await rejectsWith(read.promise, reason);
  assert.deepEqual([state.closed, controller.listeners, pool.active], [1, 0, 0]);
  await rejectsWith(pool.map([1], (n) => n, { signal: controller.signal }).next(), reason);
});

test("Pool.map: cancelling the pool ends it with the reason", async () => {
  const pool = new Pool(2);
  const map = pool.map(
    [1, 2, 3],
    (_, __, signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  );
  const read = watch(map.next());
  await flushMicrotasks();
  const reason = new Error("stop");
  pool.cancel(reason);
  await rejectsWith(read.promise, reason);
  await pool.join();
  assert.throws(() => pool.map([1], (n) => n), ClosedError);
});

test("Pool.map: a failure that no reader came for is thrown by join", async () => {
  const pool = new Pool(2);
  const error = new Error("nobody read this far");
  const map = pool.map([0, 1], (n) => {
    if (n === 1) throw error;
    return n;
  });
  assert.equal((await map.next()).value, 0);
  await rejectsWith(pool.join(), error);
  await pool.join();
});

test("Pool.map: what fails after the end, and not with its reason, is thrown by join", async () => {
  const clean = new Error("clean-up failed"), first = new Error("first");
  const failing = async (index: number, signal: AbortSignal) => {
    await new Promise((aborted) => signal.addEventListener("abort", aborted));
    if (index === 1) throw signal.reason;
    if (index === 2) throw new DOMException("aborted", "AbortError"); // another one
    if (index === 3) throw Object.assign(new Error("as Node does", { cause: signal.reason }), { name: "AbortError" });
    throw clean;
  };
  const left = new Pool(5);
  for await (const index of left.map([0, 1, 2, 3, 4], (i, _, signal) => i === 0 ? i : failing(i, signal))) {
    assert.equal(index, 0);
    break;
  }
  const caught = await left.join().catch((error) => error);
  assert.ok(caught instanceof AggregateError);
  assert.deepEqual(caught.errors.map(({ message }: Error) => message), ["aborted", "clean-up failed"]);
  await left.join();

  const failed = new Pool(2);
  const later = failed.map([0, 4], (i, _, signal) => i === 0 ? Promise.reject(first) : failing(i, signal));
  await assert.rejects(later.next(), first);
  await assert.rejects(failed.join(), clean);
});

test("Pool.map: a failure is thrown once, by whoever comes for it, and in the order in which it happened", async () => {
  const closing = new Error("closing failed");
  const pool = new Pool(3);
  const close = () => {
    throw closing;
  };
  const items: Iterable<number> = {
    [Symbol.iterator]: () => ({ next: () => ({ done: false, value: 0 }), return: close }),
  };
  const map = pool.map(items, (n) => n);
  await map.next();
  const joining = pool.join();
  await assert.rejects(map.return!(), closing);
  await joining;

  const errors = [new Error("first"), new Error("second")];
  const later = pool.map([0, 1, 2], async (n) => {
    for (let i = 0; i < n; i++) await nextTurn();
    if (n > 0) throw errors[n - 1];
  });
  await later.next();
  const caught = await pool.join().catch((error) => error);
  assert.deepEqual(caught.errors, errors);
});

test("Pool.map: an iterator that misbehaves ends the map, and keeps no place", async () => {
  const boom = new Error("boom");
  const throwing = () => {
    throw boom;
  };
  const item = (done: unknown, name?: "done" | "value") => {
    const step = { done, value: 1 };
    return name === undefined ? step : Object.defineProperty(step, name, { get: throwing });
  };
  const cases: [unknown, Error | RegExp | undefined][] = [
    [item(false, "value"), boom],
    [item(false, "done"), boom],
    [item(true, "value"), undefined],
    [item(1), undefined],
    [5, /the next of source must return an object, got 5/],
  ];
  for (const [step, error] of cases) {
    for (const symbol of [Symbol.iterator, Symbol.asyncIterator]) {
      let closed = 0;
      const answer = symbol === Symbol.iterator ? step : Promise.resolve(step);
      const source = { [symbol]: () => ({ next: () => answer, return: () => ({ done: true, value: closed++ }) }) };
      const pool = new Pool(1);
      const read = pool.map(source as unknown as Iterable<number>, (value) => value).next();
      if (error === undefined) assert.equal((await read).done, true);
      else await assert.rejects(read, error);
      await pool.join();
      assert.deepEqual([pool.active, closed], [0, 0]);
    }
  }
});

test("Pool.map: wrong arguments are refused at once", () => {
  const pool = new Pool(1);
  for (const wrong of [undefined, null, 5, {}]) assert.throws(() => pool.map(wrong as never, (n) => n), TypeError);
  for (const wrong of [undefined, null, 5]) assert.throws(() => pool.map([1], wrong as never), TypeError);
  for (const wrong of [null, 5, { ordered: 1 }, { signal: {} }]) {
    assert.throws(() => pool.map([1], (n) => n, wrong as never), TypeError);
  }
});

test("Pool.map: many items pass through a few places", async () => {
  await using pool = new Pool(10);
  let sum = 0;
  const { state, items } = source(20_000);
  for await (const n of pool.map(items(), (n) => n)) sum += n;
  assert.deepEqual([sum, state.pulled, state.closed], [20_000 * 19_999 / 2, 20_000, 1]);
});
