/** Pool.map: stopped by its signal, its pool, its reader or a misbehaving source. */
import assert from "node:assert/strict";
import { Pool } from "../../mod.ts";
import { untilAborted } from "../_group_tasks.ts";
import { test } from "../_test.ts";
import {
  CountingController,
  deferred,
  flushMicrotasks,
  nextTurn,
  rejectsWith,
  watch,
  withFakeTime,
} from "../_tools.ts";
import { collect, slow, source } from "./_sources.ts";

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

test("Pool.map: its signal ends it with the bare reason", async () => {
  await using pool = new Pool(2);
  const controller = new CountingController();
  const { state, items } = source(100);
  const map = pool.map(items(), (_, __, signal) => untilAborted(signal), { signal: controller.signal });
  const read = watch(map.next());
  await flushMicrotasks();
  const reason = new Error("the user left");
  controller.abort(reason);
  await rejectsWith(read.promise, reason);
  assert.deepEqual([state.closed, controller.listeners, pool.active], [1, 0, 0]);
  await rejectsWith(pool.map([1], (n) => n, { signal: controller.signal }).next(), reason);
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

test("Pool.map: stopped between the grant of its slot and its turn, it pulls nothing more and frees the slot", async () => {
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
    assert.deepEqual([state.pulled, pool.active], [1, 1], how);
    await read.promise.catch((reason) => assert.equal(reason, "stop"));
    finish();
    await running;
    await pool.join();
  }
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

test("Pool.map: a source that owes an item and can close ends the map at once, without a wait", () =>
  withFakeTime(async () => {
    const pool = new Pool(1);
    let closed = 0;
    const items: AsyncIterable<number> = {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise(() => {}),
        return: () => Promise.resolve({ done: true, value: closed++ }),
      }),
    };
    const map = pool.map(items, (n) => n);
    const read = watch(map.next());
    await flushMicrotasks();
    const left = watch(map.return!());
    await flushMicrotasks();
    assert.deepEqual([read.state, left.state, closed], ["fulfilled", "fulfilled", 1]);
    await pool.join();
  }));
