/** Pool.map: what fails, and who gets the failure: the reader, toArray, return or join. */
import assert from "node:assert/strict";
import { type MapResults, Pool } from "../../mod.ts";
import { test } from "../_test.ts";
import { flushMicrotasks, nextTurn, rejectsWith, states, watch } from "../_tools.ts";
import { collect, source } from "./_sources.ts";

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
