import assert from "node:assert/strict";
import { SingleFlight, TimeoutError } from "../mod.ts";
import { assertSoundSingleFlight } from "./sound/single_flight.ts";
import { test } from "./_test.ts";
import { CountingController, deferred, flushMicrotasks, rejectsWith, states, watch, withFakeTime } from "./_tools.ts";

const unused = () => assert.fail("called");

test("single flight: calls with one key share a run, others have their own", async () => {
  const flights = new SingleFlight<string>();
  let runs = 0;
  const fn = async () => {
    await flushMicrotasks();
    return { run: ++runs };
  };
  const calls = ["a", "a", "b", "a"].map((key) => flights.run(key, fn));
  assert.equal(runs, 0, "a later microtask");
  assert.deepEqual([flights.size, flights.has("a"), flights.has("c")], [2, true, false]);
  assertSoundSingleFlight(flights);
  const [a, again, b, last] = await Promise.all(calls);
  assert.ok(a === again && a === last && a !== b);
  assert.deepEqual([runs, flights.size, flights.has("a")], [2, 0, false]);
  assert.notEqual(await flights.run("a", fn), a, "nothing is kept");
});

test("single flight: keys are compared as in a Map", async () => {
  const flights = new SingleFlight<unknown>();
  const object = {};
  const keys = [NaN, NaN, 1, "1", object, object, {}];
  const results = await Promise.all(keys.map((key, i) => flights.run(key, () => i)));
  assert.deepEqual(results, [0, 0, 2, 3, 4, 4, 6]);
});

test("single flight: a failure reaches all callers, and is forgotten before they see it", async () => {
  const flights = new SingleFlight<string>();
  const error = new Error("failed");
  for (
    const fn of [() => Promise.reject(error), () => {
      throw error;
    }]
  ) {
    const seen: boolean[] = [];
    const look = (reason: unknown) => (seen.push(flights.has("a")), reason);
    const { signal } = new AbortController();
    const calls = [flights.run("a", fn), flights.run("a", unused), flights.run("a", unused, { signal })];
    assert.deepEqual(await Promise.all(calls.map((call) => call.then(unused, look))), [error, error, error]);
    assert.deepEqual([seen, flights.size], [[false, false, false], 0]);
    assert.equal(await flights.run("a", () => "next"), "next");
  }
});

test("single flight: callers resume in their order, with and without options", async () => {
  for (const outcome of ["result", "failure"]) {
    const flights = new SingleFlight<string>();
    const { promise, resolve, reject } = deferred();
    const order: number[] = [];
    const middle = new AbortController();
    const call = async (i: number, signal?: AbortSignal) => {
      await flights.run("a", () => promise, signal && { signal }).catch(() => {});
      order.push(i);
    };
    const { signal } = new AbortController();
    const calls = [call(0), call(1, signal), call(2), call(3, middle.signal), call(4), call(5), call(6, signal)];
    middle.abort();
    await flushMicrotasks();
    calls.push(call(7));
    outcome === "result" ? resolve() : reject(outcome);
    await Promise.all(calls);
    assert.deepEqual(order, [3, 0, 1, 2, 4, 5, 6, 7]);
  }
});

test("single flight: when all callers have gone, the signal aborts with the reason of the last one", () =>
  withFakeTime(async (time) => {
    const flights = new SingleFlight<string>({ name: "users" });
    const first = new CountingController();
    let inner: AbortSignal | undefined;
    const fn = (signal: AbortSignal) => {
      inner = signal;
      return new Promise<number>(() => {});
    };
    const calls = [flights.run("a", fn, { signal: first.signal }), flights.run("a", unused, { timeout: 50 })].map(
      watch,
    );
    await flushMicrotasks();
    first.abort("first");
    assert.deepEqual([inner!.aborted, flights.has("a")], [false, true]);
    time.advance(50);
    await flushMicrotasks();
    const error = calls[1]!.reason as Error;
    assert.equal(error.message, 'Cannot run single flight "users" for key "a": timed out after 50 ms');
    assert.deepEqual([calls[0]!.reason, inner!.reason, flights.size], ["first", error, 0]);
    assert.equal(await flights.run("a", () => "anew"), "anew");
  }));

test("single flight: a call from inside with the same key gets the same promise", async () => {
  const flights = new SingleFlight<string>();
  let inner: Promise<number> | undefined;
  const outer = flights.run("a", () => {
    inner = flights.run("a", unused);
    return 5;
  });
  assert.equal(await outer, 5);
  assert.equal(inner, outer);
});

test("single flight: a time-out of 0 rejects without calling the function", async () => {
  const flights = new SingleFlight<number>();
  await assert.rejects(flights.run(1, unused, { timeout: 0 }), TimeoutError);
  assert.equal(flights.size, 0);
  const running = flights.run(1, () => "result");
  await assert.rejects(flights.run(1, unused, { timeout: 0 }), TimeoutError);
  assert.equal(await running, "result");
});

test("single flight: arguments first, then the signal; nothing is begun for a call that is refused", async () => {
  const flights = new SingleFlight<number>();
  for (const fn of [undefined, 5, {}]) await assert.rejects(flights.run(1, fn as never), TypeError);
  await assert.rejects(flights.run(1, 5 as never, { signal: AbortSignal.abort() }), TypeError);
  const error = new Error("odd signal");
  const signal = {
    aborted: false,
    addEventListener() {
      throw error;
    },
    removeEventListener() {},
  } as never;
  let runs = 0;
  const endless = () => new Promise<void>(() => runs++);
  await rejectsWith(flights.run(1, endless, { signal }), error);
  await flushMicrotasks();
  assert.deepEqual([flights.size, runs], [0, 0]);
});

test("single flight: odd thenables", async () => {
  const flights = new SingleFlight<number>();
  const error = new Error("then");
  const throwing = Object.defineProperty({}, "then", {
    get: () => {
      throw error;
    },
  });
  await rejectsWith(flights.run(1, () => throwing as PromiseLike<void>), error);
  const twice = { then: (yes: (value: number) => void, no: (reason: unknown) => void) => (yes(1), no(2), yes(3)) };
  assert.equal(await flights.run(1, () => twice as PromiseLike<number>), 1);
  assert.equal(flights.size, 0);
});

test("single flight: an abort in the middle of the end comes too late for all callers", async () => {
  const flights = new SingleFlight<number>();
  const controller = new AbortController();
  let reads = 0;
  const result = Object.defineProperty({}, "then", { // read when the function has returned, and by each caller's promise
    get: () => void (++reads === 2 && controller.abort()),
  });
  const calls = [undefined, { signal: controller.signal }, undefined].map((options) =>
    watch(flights.run(1, () => result, options))
  );
  assert.equal(await states(calls), "fulfilled fulfilled fulfilled");
  assert.ok(controller.signal.aborted);
});
