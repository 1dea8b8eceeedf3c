/** Pool.map: back-pressure at both ends, order, errors, leaving early. */
import assert from "node:assert/strict";
import { ClosedError, type MapResults, Pool } from "../../mod.ts";
import { assertSoundPool } from "../../lib/pool/pool.ts";
import { deeply } from "../_random.ts";
import { test } from "../_test.ts";
import {
  CountingController,
  deferred,
  flushMicrotasks,
  nextTurn,
  rejectsWith,
  states,
  until,
  watch,
} from "../_tools.ts";

async function collect<R>(results: AsyncIterable<R>): Promise<R[]> {
  const all: R[] = [];
  for await (const one of results) all.push(one);
  return all;
}

/** Counts the items that are pulled, and how often it is closed. */
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

/** An asynchronous source and a function, each of whose items takes the given number of turns of a counted clock. */
function slow(sourceTurns: number, fnTurns: number, count: number) {
  const state = { turn: 0, asked: 0, started: 0, running: 0, most: 0, last: 0 };
  const wait = async (turns: number) => {
    for (const end = state.turn + turns; state.turn < end;) await Promise.resolve();
  };
  const items: AsyncIterable<number> = {
    [Symbol.asyncIterator]: () => ({
      next: async () => {
        state.asked++;
        if (state.asked > count) return { done: true, value: undefined };
        await wait(sourceTurns);
        return { done: false, value: state.asked };
      },
    }),
  };
  const fn = async (n: number) => {
    state.started++;
    state.most = Math.max(state.most, ++state.running);
    await wait(fnTurns);
    state.running--;
    state.last = state.turn;
    return n;
  };
  /** Moves the clock until the promise settles. */
  const run = async <T>(promise: Promise<T>): Promise<T> => {
    const watched = watch(promise);
    while (watched.state === "pending") {
      await flushMicrotasks();
      await flushMicrotasks();
      state.turn++;
    }
    return await promise;
  };
  return { state, items, fn, run };
}

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

test("Pool.map: the item asked for ahead is not for a map that was stopped meanwhile", async () => {
  for (const how of ["abort", "leave", "fail"]) {
    const { state, items } = slow(0, 0, 10);
    const pool = new Pool(1);
    const controller = new AbortController();
    const gate = deferred();
    let calls = 0;
    const map = pool.map(items, () => (calls++, gate.promise), { signal: controller.signal });
    const read = watch(map.next());
    await flushMicrotasks();
    assert.deepEqual([state.asked, calls], [2, 1]);
    if (how === "abort") controller.abort("stop");
    if (how === "fail") gate.reject("stop");
    const left = how === "leave" ? watch(map.return!()) : undefined;
    gate.resolve();
    await read.promise.catch((error) => assert.equal(error, "stop"));
    await left?.promise;
    await flushMicrotasks();
    assert.deepEqual([state.asked, calls, pool.active], [2, 1, 0], how);
    await pool.join();
  }
});

for (const limit of [1, 2, 3, 8]) {
  test(`Pool.map: with a slow reader, started less read stays at the limit of ${limit}`, async () => {
    for (const kind of [(items: number[]) => items, later]) {
      const pool = new Pool(limit);
      let started = 0;
      const map = pool.map(kind(Array.from({ length: 40 }, (_, i) => i)), (n) => (started++, n));
      for (let read = 1; read <= 40 - limit; read++) {
        assert.equal((await map.next()).value, read - 1);
        for (let i = 0; i <= limit; i++) await nextTurn(); // the reader is slow
        const batch = Math.max(limit >> 2, 1); // room for so many is waited for
        assert.ok(started - read <= limit && started - read > limit - batch, `${started} started, ${read} read`);
        assertSoundPool(pool);
      }
      await map.return!();
      await pool.join();
    }
  });
}

test("Pool.map: no slot stays empty while the reader waits for results", async () => {
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

test("Pool.map: never more run than the pool has slots, also shared with other calls", async () => {
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
  await pool.join(); // the reader got it
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

test("Pool.map: its signal ends it with the bare reason", async () => {
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

test("Pool.map: a failure that was not read is thrown by join", async () => {
  const pool = new Pool(2);
  const error = new Error("the reader did not come this far");
  const map = pool.map([0, 1], (n) => {
    if (n === 1) throw error;
    return n;
  });
  assert.equal((await map.next()).value, 0);
  await rejectsWith(pool.join(), error);
  await pool.join();
});

/** Fails with an error of its own once it is told to stop. */
async function failsLate(error: unknown, signal: AbortSignal): Promise<never> {
  await new Promise((aborted) => signal.addEventListener("abort", aborted));
  throw error;
}

/** A source whose `finally` fails. */
function* failingSource(error: unknown) {
  try {
    for (let i = 0;; i++) yield i;
  } finally {
    // deno-lint-ignore no-unsafe-finally
    throw error;
  }
}

const first = new Error("first");

/** The ways to read a map whose functions fail: what the reader gets. */
const readers: Record<string, (map: MapResults<number>) => Promise<unknown>> = {
  "for await": collect,
  "toArray": (map) => map.toArray(),
  "next": async (map) => {
    for (;;) if ((await map.next()).done) return;
  },
  "reads at once": async (map) => {
    await Promise.all(Array.from({ length: 5 }, () => map.next()));
  },
  "left behind the failure": async (map) => {
    await map.next();
    await nextTurn();
    await map.return!();
  },
};

for (const [how, read] of Object.entries(readers)) {
  test(`Pool.map: the failures behind the first one are the reader's as well, ${how}`, async () => {
    const closing = new Error("closing");
    const fail = (i: number, _: number, signal: AbortSignal) =>
      i === 0 ? i : i === 2 ? Promise.reject(first) : failsLate(new Error(`late ${i}`), signal);
    const pool = new Pool(4);
    await rejectsWith(read(pool.map([0, 1, 2, 3, 4], fail)), first);
    await rejectsWith(read(pool.map(failingSource(closing), fail)), first);
    await pool.join();
    const thrown = (async () => {
      await using pool = new Pool(4);
      await read(pool.map([0, 1, 2, 3], fail));
    })();
    await rejectsWith(thrown, first); // no SuppressedError
  });
}

test("Pool.map: failures of functions that were told to stop are no failures, when it was left or aborted", async () => {
  const fail = (i: number, _: number, signal: AbortSignal) => i === 0 ? i : failsLate(new Error(`late ${i}`), signal);
  const pool = new Pool(3);
  for await (const i of pool.map([0, 1, 2], fail)) {
    assert.equal(i, 0);
    break;
  }
  await pool.join();
  const controller = new AbortController();
  const aborted = watch(collect(pool.map([0, 1, 2], fail, { signal: controller.signal })));
  await flushMicrotasks();
  controller.abort("enough");
  await rejectsWith(aborted.promise, "enough");
  await pool.join();
  const cancelled = watch(collect(pool.map([0, 1, 2], fail)));
  await flushMicrotasks();
  pool.cancel("over");
  await rejectsWith(cancelled.promise, "over");
  await pool.join();
});

test("Pool.map: a source that fails when the loop is left fails the loop, and nothing else", async () => {
  const pool = new Pool(2);
  const left = async () => {
    for await (const i of pool.map(failingSource(first), (i) => i)) if (i === 1) break;
  };
  await rejectsWith(left(), first);
  await pool.join();
  const controller = new AbortController();
  const map = pool.map(failingSource(first), (i) => i, { signal: controller.signal });
  await map.next();
  controller.abort("enough");
  await rejectsWith(collect(map), "enough");
  await pool.join();
});

test("Pool.map: a failure is thrown once, to the first that asks for it", async () => {
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
  await later.next(); // the reader does not come as far as the failure
  await rejectsWith(pool.join(), errors[0]);
  await pool.join();
});

test("Pool.map: an iterator that misbehaves ends the map, and keeps no slot", async () => {
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

test("Pool.map: a slow first item does not keep the slots empty when there is a buffer", async () => {
  await using pool = new Pool(2);
  let finish = () => {};
  const { state, items } = source(20);
  const results = pool.map(items(), (n) => n === 0 ? new Promise<number>((resolve) => finish = () => resolve(n)) : n, {
    buffer: 10,
  });
  const first = results.next();
  await flushMicrotasks();
  assert.equal(state.pulled, 10);
  finish();
  assert.equal((await first).value, 0);
  assert.deepEqual(await results.toArray(), Array.from({ length: 19 }, (_, i) => i + 1));
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

test("Pool.map: stopped between the grant of its slot and its turn, it pulls nothing and frees the slot", async () => {
  for (const [how, stop] of Object.entries(stops)) {
    const pool = new Pool(1);
    let finish = () => {};
    const running = pool.run(() => new Promise<void>((resolve) => finish = resolve));
    await flushMicrotasks();
    const { state, items } = source(5);
    const controller = new CountingController();
    const map = pool.map(items(), () => assert.fail("called"), { signal: controller.signal });
    const read = watch(map.next());
    await flushMicrotasks();
    assert.equal(pool.waiting, 1);
    pool.limit = 2; // grants
    assert.deepEqual([pool.waiting, pool.active], [0, 2]);
    stop({ pool, controller, leave: () => void map.return!() });
    await flushMicrotasks();
    assert.deepEqual([state.pulled, pool.active], [0, 1], how);
    await read.promise.catch((reason) => assert.equal(reason, "stop"));
    finish();
    await running;
    await pool.join();
  }
});

test("Pool.map: at the first error toArray aborts the rest, awaits its end, and throws the error bare", async () => {
  const pool = new Pool(3);
  const { state, items } = source(100);
  const error = new Error("third item");
  let running = 0, reason: unknown;
  await rejectsWith(
    pool.map(items(), async (n, _, signal) => {
      running++;
      signal.addEventListener("abort", () => reason = signal.reason);
      await nextTurn();
      if (n === 2) {
        running--;
        throw error;
      }
      await nextTurn();
      running--;
    }).toArray(),
    error,
  );
  assert.deepEqual([running, reason, state.closed, pool.active], [0, error, 1, 0]);
  assert.ok(state.pulled < 10);
  await pool.join(); // it was thrown to toArray
  const reason2 = new Error("stop");
  const stopped = pool.map(
    [1],
    (_, __, signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  ).toArray();
  const watched = watch(stopped);
  await flushMicrotasks();
  pool.cancel(reason2);
  await rejectsWith(watched.promise, reason2);
  await pool.join();
});

test("Pool.map: a map that was never read makes join throw, once", async () => {
  const pool = new Pool(2, { name: "crawler" });
  pool.map([1], () => assert.fail("called"));
  const unread = /^SyncError: Cannot join pool "crawler": a map was never read: use for await or toArray\(\)$/;
  await assert.rejects(pool.join(), unread);
  await pool.join();
  pool.map([1], () => assert.fail("called"));
  const task = new Error("task");
  await pool.createTask(() => Promise.reject(task));
  await assert.rejects(pool.join(), (error: AggregateError) => {
    assert.match(String(error.errors[0]), unread);
    return error.errors.length === 2 && error.errors[1] === task;
  });
  await assert.rejects(async () => {
    await using disposed = new Pool(2, { name: "crawler" });
    await disposed.map([1], () => assert.fail("called")); // forgets to read it
  }, unread);
});

test("Pool.map: a map that is read in any way is no unread map", async () => {
  const pool = new Pool(2);
  const late = pool.map([1, 2], (n) => n); // read while join waits
  let finish: (() => void) | undefined;
  const running = pool.run(() => new Promise<void>((resolve) => finish = resolve));
  await flushMicrotasks();
  const joined = watch(pool.join());
  await pool.map([1], (n) => n).next();
  await pool.map([1], () => assert.fail("called")).return!();
  assert.deepEqual(await pool.map([1], (n) => n).toArray(), [1]);
  assert.deepEqual(await collect(late), [1, 2]);
  finish!();
  await running;
  await pool.map([1], (n) => n).toArray();
  assert.equal(await states([joined]), "fulfilled");
});

test("Pool.map: a map that is left without being read is no unread map, also before it has ended", async () => {
  const pool = new Pool(2);
  const left = pool.map([1], () => assert.fail("called")).return!();
  await pool.join();
  assert.equal((await left).done, true);
});

test("Pool.map: a failure that return() throws is not for a join meanwhile", async () => {
  const pool = new Pool(2);
  const error = new Error("second");
  const map = pool.map([1, 2], (n) => n === 1 ? n : Promise.reject(error));
  await map.next();
  await flushMicrotasks();
  const left = watch(map.return!());
  await pool.join();
  assert.equal(await states([left]), "rejected");
  assert.equal(left.reason, error);
});

/** The ways to stop a map. */
const stops: Record<string, (stop: { pool: Pool; controller: AbortController; leave: () => void }) => void> = {
  "the signal aborts": ({ controller }) => controller.abort("stop"),
  "the pool is cancelled": ({ pool }) => pool.cancel("stop"),
  "the reader leaves": ({ leave }) => leave(),
};

for (const [how, stop] of Object.entries(stops)) {
  test(`Pool.map: nothing is pulled and nothing called after ${how}, wherever that happens`, async () => {
    for (const place of ["next", "value", "fn", "later item", "promised item", "while a slot is waited for"]) {
      for (const at of [0, 1, 5]) {
        const pool = new Pool(2);
        const controller = new CountingController();
        let pulled = 0, called = 0, stopped = false, closed = 0;
        const now = (where: string, n: number) => {
          const isCall = where === "next" || where === "fn";
          assert.ok(!(stopped && isCall), `${where} after the stop, ${place} ${at}`);
          if (stopped || where !== place || n !== at) return;
          stopped = true;
          stop({ pool, controller, leave: () => void map.return!() });
        };
        const isLater = place === "later item";
        const iterator = {
          next() {
            const n = pulled++;
            now("next", n);
            const step = {
              done: n === 20,
              get value() {
                now("value", n);
                return place === "promised item" ? nextTurn().then(() => (now(place, n), n)) : n;
              },
            };
            return isLater ? nextTurn().then(() => (now(place, n), step)) : step;
          },
          return: () => {
            closed++;
            return isLater ? Promise.resolve({ done: true, value: 0 }) : { done: true, value: 0 };
          },
        };
        const items = { [isLater ? Symbol.asyncIterator : Symbol.iterator]: () => iterator };
        const map = pool.map(items as unknown as Iterable<number>, (n) => {
          called++;
          now("fn", n);
          return nextTurn();
        }, { signal: controller.signal, buffer: 3 });
        let block = () => {};
        if (place === "while a slot is waited for") {
          void pool.run(() => new Promise<void>((resolve) => block = resolve));
          await flushMicrotasks();
          pool.limit = 1;
        }
        const read = watch(collect(map));
        if (place === "while a slot is waited for") {
          await flushMicrotasks();
          now(place, at);
          block();
        }
        await read.promise.catch(() => {});
        assert.deepEqual([stopped, closed <= 1], [true, true], place);
        assert.ok(called <= pulled);
        assert.equal(pool.active, 0);
        if (how !== "the reader leaves") assert.equal(read.reason, "stop");
        await pool.join();
        assert.equal(controller.listeners, 0);
      }
    }
  });
}

test("Pool.map: odd thenables from the function and the source neither keep a slot nor end the process", async () => {
  const boom = new Error("boom");
  const odd: Record<string, PromiseLike<number>> = {
    "then throws": {
      then: () => {
        throw boom;
      },
    } as never,
    "a getter throws": Object.defineProperty({}, "then", {
      get: () => {
        throw boom;
      },
    }) as never,
    "settles twice": {
      then: (done: (n: number) => void) => {
        done(1);
        done(2);
        throw boom;
      },
    } as never,
    "a promise with another then": Object.assign(Promise.resolve(1), {
      then: () => {
        throw boom;
      },
    }) as never,
    "a promise with another constructor": Object.defineProperty(Promise.resolve(1), "constructor", {
      get: () => {
        throw boom;
      },
    }),
  };
  for (const [name, thenable] of Object.entries(odd)) {
    const pool = new Pool(1);
    const mapped = watch(pool.map([1], () => thenable).toArray());
    await mapped.promise.catch((error) => assert.equal(error, boom, name));
    assert.notEqual(mapped.state, "pending");
    const pulled = watch(pool.map([thenable], () => 1).toArray());
    await pulled.promise.catch((error) => assert.equal(error, boom, name));
    assert.equal(pool.active, 0, name);
    await pool.join();
  }
});

test("Pool.map: a map of a paused pool is queued once, and pulls nothing until the limit is raised", async () => {
  await using pool = new Pool(2);
  pool.limit = 0;
  const { state, items } = source(5);
  const all = pool.map(items(), (n) => n).toArray();
  await flushMicrotasks();
  assert.deepEqual([state.pulled, pool.waiting, pool.active], [0, 1, 0]);
  pool.limit = 2;
  assert.deepEqual(await all, [0, 1, 2, 3, 4]);
});

test("Pool.map: paused in the middle, it goes on where it was", async () => {
  await using pool = new Pool(2);
  const called: number[] = [];
  const all = watch(
    pool.map(Array.from({ length: 10 }, (_, i) => i), async (n) => {
      called.push(n);
      if (n === 3) pool.limit = 0;
      await nextTurn();
      return n;
    }).toArray(),
  );
  await until(() => pool.limit === 0 && pool.active === 0);
  for (let i = 0; i < 5; i++) await nextTurn();
  assert.deepEqual([called.length, all.state], [4, "pending"]);
  pool.limit = Infinity;
  assert.equal((await all.promise).length, 10);
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

test("Pool.map: waits in order with other calls, so that neither side starves", async () => {
  const pool = new Pool(1);
  const order: string[] = [];
  const turn = (name: string) => async () => {
    order.push(name);
    await Promise.resolve();
  };
  const mapped = pool.map([0, 1, 2, 3], (n) => turn(`m${n}`)()).toArray();
  await flushMicrotasks();
  order.length = 0;
  const map = pool.map([0, 1, 2, 3], (n) => turn(`m${n}`)());
  const all = map.toArray();
  await Promise.resolve();
  const runs = ["a", "b", "c"].map((name) => pool.run(turn(name)));
  await Promise.all([mapped, all, ...runs]);
  assert.deepEqual([...order].sort(), ["a", "b", "c", "m0", "m1", "m2", "m3"]);
  assert.ok(order.indexOf("c") < order.indexOf("m3"), order.join());
  assert.ok(order.indexOf("m0") < order.indexOf("c"), order.join());
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

test("Pool.map: many items pass through a few slots", async () => {
  await using pool = new Pool(10);
  let sum = 0;
  const count = deeply(2000, 20_000);
  const { state, items } = source(count);
  for await (const n of pool.map(items(), (n) => n)) sum += n;
  assert.deepEqual([sum, state.pulled, state.closed], [count * (count - 1) / 2, count, 1]);
});

test("Pool.map: works on where a library has replaced the global Promise", async () => {
  const Native = Promise;
  /** As zone.js and bluebird do it: a class of its own around the engine's promises. */
  class Replaced {
    readonly #inner: Promise<unknown>;
    constructor(executor: (resolve: (value: unknown) => void, reject: (reason: unknown) => void) => void) {
      this.#inner = new Native(executor);
    }
    static resolve(value: unknown): Replaced {
      return value instanceof Replaced ? value : new Replaced((resolve) => resolve(value));
    }
    static reject(reason: unknown): Replaced {
      return new Replaced((_, reject) => reject(reason));
    }
    then(...handlers: [(value: unknown) => unknown, (reason: unknown) => unknown]): Replaced {
      return new Replaced((resolve) => resolve(this.#inner.then(...handlers)));
    }
  }
  globalThis.Promise = Replaced as unknown as PromiseConstructor;
  try {
    const pool = new Pool(2);
    const double = async (n: number) => await new Promise<number>((resolve) => setTimeout(resolve, 0, 2 * n));
    assert.deepEqual(await pool.map([1, 2, 3], double).toArray(), [2, 4, 6]);
    await assert.rejects(pool.map([1], async () => await Promise.reject(new Error("no"))).toArray(), /no/);
    await pool.join();
  } finally {
    globalThis.Promise = Native;
  }
});
