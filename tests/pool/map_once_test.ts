/** Pool.map as one call, without a pool of one's own; settled results of both maps. */
import assert from "node:assert/strict";
import { Pool, RateLimiter } from "../../mod.ts";
import { untilAborted } from "../_group_tasks.ts";
import { test } from "../_test.ts";
import { nextTurn, rejectsWith, states, until, watch } from "../_tools.ts";
import { later } from "./_sources.ts";

const fulfilled = <T>(value: T) => ({ status: "fulfilled", value });
const rejected = (reason: unknown) => ({ status: "rejected", reason });

test("Pool.map in one call: the results in the order of the items, of any kind of source, at most limit at a time", async () => {
  const items = [5, 4, 3, 2, 1, 0];
  let running = 0, most = 0;
  const double = async (n: number, index: number, signal: AbortSignal) => {
    assert.deepEqual([items[index], signal.aborted], [n, false]);
    most = Math.max(most, ++running);
    for (let i = 0; i < n; i++) await nextTurn();
    running--;
    return 2 * n;
  };
  for (const given of [items, new Set(items), later(items), items.map((n) => Promise.resolve(n))]) {
    most = 0;
    assert.deepEqual(await Pool.map(given as Iterable<number>, 2, double), [10, 8, 6, 4, 2, 0]);
    assert.equal(most, 2);
  }
  assert.deepEqual(await Pool.map([], 1, double), []);
  assert.deepEqual(await Pool.map("abc", Infinity, (letter) => letter.toUpperCase()), ["A", "B", "C"]);
});

test("Pool.map in one call: bad arguments reject with the errors of new Pool and pool.map", async () => {
  const fn = (n: number) => n;
  const options = (given: unknown) => Pool.map([1], 1, fn, given as never);
  const refusals: [Promise<unknown>, RegExp][] = [
    [Pool.map([1], 0, fn), /^RangeError: limit must be a whole number of 1 or more, or Infinity, got 0$/],
    [
      Pool.map([1], fn as never, 5 as never),
      /^TypeError: limit must be a number, got function fn: write Pool\.map\(items, 5, fn\)$/,
    ],
    [Pool.map(5 as never, 1, fn), /^TypeError: source must be an iterable or async iterable, got 5$/],
    [Pool.map(Promise.resolve([1]) as never, 1, fn), /^TypeError: source must not be a promise: await it first, got/],
    [Pool.map([1], 1, function* () {} as never), /^TypeError: fn must not be a generator function/],
    [options({ signal: 5 }), /^TypeError: signal must be an AbortSignal, such as controller\.signal, got 5$/],
    [options(new AbortController().signal), /^TypeError: options must not be a signal: pass/],
    [options(new RateLimiter(1, 1)), /^TypeError: options must not be a RateLimiter: pass/],
    [options({ rate: 5 }), /^TypeError: rate must be a RateLimiter \(.*\), got 5$/],
    [options({ settled: "yes" }), /^TypeError: settled must be a boolean, got "yes"$/],
    [options({ name: 5 }), /^TypeError: name must be a string, got 5$/],
  ];
  for (const [refusal, message] of refusals) await assert.rejects(refusal, message);
});

const maps = {
  "pool.map": async <T, R>(items: Iterable<T>, fn: (item: T, index: number, signal: AbortSignal) => R | Promise<R>) => {
    await using pool = new Pool(2); // what is unobserved would be thrown
    return await pool.map(items, fn, { settled: true }).toArray();
  },
  "Pool.map": <T, R>(items: Iterable<T>, fn: (item: T, index: number, signal: AbortSignal) => R | Promise<R>) =>
    Pool.map(items, 2, fn, { settled: true }),
};

for (const [name, map] of Object.entries(maps)) {
  test(`${name}, settled: a failing function stops nothing, whether it throws or rejects`, async () => {
    const errors = [new Error("thrown"), new Error("rejected")];
    const results = await map([0, 1, 2, 3], (n, _, signal) => {
      assert.equal(signal.aborted, false);
      if (n === 0) throw errors[0];
      return n === 2 ? Promise.reject(errors[1]) : n;
    });
    assert.deepEqual(results, [rejected(errors[0]), fulfilled(1), rejected(errors[1]), fulfilled(3)]);
  });

  test(`${name}, settled: a failure of the source ends it`, async () => {
    const error = new Error("no more connection");
    function* failing() {
      yield 0;
      throw error;
    }
    const reasons: unknown[] = [];
    const fails = (_: number, __: number, signal: AbortSignal) =>
      untilAborted(signal).catch((reason) => void reasons.push(reason));
    await rejectsWith(map(failing(), fails), error);
    assert.deepEqual(reasons, [error]);
  });
}

test("pool.map, settled: in a loop, in either order; leaving the loop, a signal and cancel end it", async () => {
  await using pool = new Pool(2);
  const error = new Error("odd");
  const check = (n: number) => n % 2 === 0 ? n : Promise.reject(error);
  const all = [fulfilled(0), rejected(error), fulfilled(2), rejected(error)];
  for (const ordered of [true, false]) {
    const results: unknown[] = [];
    for await (const one of pool.map([0, 1, 2, 3], check, { ordered, settled: true })) results.push(one);
    assert.deepEqual(ordered ? results : results.length, ordered ? all : 4);
  }
  const endless = (_: number, __: number, signal: AbortSignal) => untilAborted(signal);
  for await (const one of pool.map([0, 1, 2], (n, i, signal) => n ? endless(n, i, signal) : n, { settled: true })) {
    assert.deepEqual(one, fulfilled(0));
    break;
  }
  assert.equal(pool.active, 0);
  const [controller, reason] = [new AbortController(), new Error("enough")];
  for (const end of [() => controller.abort(reason), () => pool.cancel(reason)]) {
    const signal = controller.signal.aborted ? undefined : controller.signal;
    const mapping = watch(pool.map([0, 1, 2], endless, { settled: true, signal }).toArray());
    await until(() => pool.active === 2);
    end();
    assert.equal(await states([mapping]), "rejected");
    assert.equal(mapping.reason, reason);
  }
});
