import assert from "node:assert/strict";
import {
  acquireAll,
  Condition,
  KeyedMutex,
  KeyedRateLimiter,
  KeyedSemaphore,
  Lock,
  Pool,
  RateLimiter,
  Semaphore,
  TimeoutError,
} from "../../mod.ts";
import { type Finding, observe, type ObservedCall, snapshot, watchdog } from "../../lib/diagnostics/mod.ts";
import { hook } from "../../lib/internal/hook.ts";
import { test } from "../_test.ts";
import { deferred, FakeTime, flushMicrotasks, watch, withFakeTime } from "../_tools.ts";
import { kindsOf, Thing, watched } from "./_tools.ts";

/** The file and line of the caller, `up` lines further down. */
function line(up = 0): string {
  const [, , caller] = new Error().stack!.split("\n");
  return caller!.replace(
    /^.*?([\w.]+):(\d+):\d+\)?$/,
    (_, file: string, line: string) => `${file}:${Number(line) + up}`,
  );
}

const stop = new AbortController();

test("watchdog: a forgotten release is found from both sides, once each", () =>
  watched(async (findings, time) => {
    const lock = new Lock();
    const here = line();
    const guard = await lock.acquire();
    time.advance(500);
    const controller = new AbortController();
    const waiter = watch(lock.acquire({ signal: controller.signal }));
    time.advance(9_000);
    assert.equal(findings.length, 0);
    await time.pass(60_000, 100);
    assert.deepEqual(kindsOf(findings), ["held", "waited"]);
    const [held, waited] = findings as [Finding, Finding];
    const file = here.split(":")[0];
    const atLine = (offset: number) => `${file}:${Number(here.split(":")[1]) + offset}`;
    assert.match(
      held.message,
      /^Interlock: long hold: lock #\d+ has been held for 10\.\d s, since \d\d:\d\d:\d\d, acquired at /,
    );
    assert.ok(held.message.includes(`, acquired at ${atLine(1)}; 1 call waits for it, the first for `), held.message);
    assert.ok(held.message.endsWith(` at ${atLine(4)}`), held.message);
    assert.match(
      waited.message,
      /^Interlock: long wait: a call at \S+ has waited for lock #\d+ for 10\.\d s, since \d\d:\d\d:\d\d; held /,
    );
    assert.ok(
      waited.message.includes(`a call at ${atLine(4)} `) && waited.message.endsWith(`acquired at ${atLine(1)}`),
    );
    assert.deepEqual(held.calls.map(({ state, kind, site }) => `${state} ${kind} ${site}`), [
      `holds lock ${atLine(1)}`,
      `waits lock ${atLine(4)}`,
    ]);
    assert.deepEqual(waited.calls.map(({ state }) => state), ["waits", "holds"]);
    controller.abort();
    await waiter.promise.catch(() => {});
    guard.release();
  }));

test("watchdog: a call that waits for what its own run holds", () =>
  watched(async (findings, time) => {
    const lock = new Lock({ name: "orders" });
    const controller = new AbortController();
    const outer = lock.run(async () => {
      await lock.run(() => {}, { signal: controller.signal });
    });
    outer.catch(() => {});
    await time.pass(900, 100);
    assert.equal(findings.length, 0);
    await time.pass(60_000, 100);
    assert.deepEqual(kindsOf(findings), ["self"]);
    assert.match(
      findings[0]!.message,
      /^Interlock: self-wait: a call at watchdog_test\.ts:\d+ has waited for lock "orders" for 1\.\d s, since .*, inside of the run that has held it for 1\.\d s, acquired at watchdog_test\.ts:\d+$/,
    );
    controller.abort(stop);
    await assert.rejects(outer);
  }));

test("watchdog: runs that wait for each other, across awaits and other calls", () =>
  watched(async (findings, time) => {
    const a = new Lock({ name: "a" }), b = new KeyedMutex<string>({ name: "b" }), c = new Semaphore(1, { name: "c" });
    const controller = new AbortController(), { signal } = controller;
    const all = Promise.allSettled([
      a.run(async () => {
        await flushMicrotasks();
        await b.run("x", () => {}, { signal });
      }),
      b.run("x", async () => {
        await flushMicrotasks();
        await c.acquire({ signal });
      }),
      c.run(async () => {
        await flushMicrotasks();
        await a.acquire({ signal });
      }),
    ]);
    const victims = [a.run(() => {}), a.acquire().then((guard) => guard.release())]; // they wait for it, and are no part of it
    await time.pass(60_000, 100);
    assert.deepEqual(kindsOf(findings).filter((kind) => kind !== "waited"), ["cycle"]);
    const [{ message, calls }] = findings as [Finding];
    assert.match(message, /^Interlock: cycle: 3 runs wait for each other since \d\d:\d\d:\d\d:\n/);
    const runs = message.split("\n").slice(1).map((run) =>
      /one has held (.*) for .*acquired at .*waited for (.*) for/.exec(run)!
    );
    const pairs = runs.map(([, held, wanted]) => `${held} > ${wanted}`).sort();
    assert.deepEqual(pairs, [
      'lock "a" > lock "b" for key "x"',
      'lock "b" for key "x" > semaphore "c"',
      'semaphore "c" > lock "a"',
    ]);
    assert.equal(calls.length, 6);
    assert.ok(calls.every(({ site }) => /^watchdog_test\.ts:\d+$/.test(`${site}`)));
    controller.abort(stop);
    await all;
    await Promise.all(victims);
  }));

test("watchdog: innocent programs cause no finding", () =>
  watched(async (findings, time) => {
    const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)); // by the fake clock
    const a = new Lock(), b = new Lock(), outer = new Semaphore(2), inner = new Semaphore(2);
    const nested = () => a.run(() => b.run(() => sleep(700)));
    const pooled = () => outer.run(() => inner.run(() => sleep(700)));
    const handing = () =>
      a.run(async (guard) => {
        const child = a.run(() => sleep(700));
        await sleep(500);
        guard.release();
        await child; // it waits for the lock, which this run no longer holds
      });
    const condition = new Condition();
    const consumer = condition.run(() => condition.wait());
    const all = [nested, pooled, handing, nested, pooled, pooled, pooled].map((program) => program());
    await time.pass(9_000, 100);
    await Promise.all(all);
    assert.equal(findings.length, 0);
    await condition.run(() => condition.notifyAll());
    await consumer;
  }));

test("watchdog: runs that wait for a pool's rate, or while it is paused, are no cycle", () =>
  watched(async (findings, time) => {
    const pool = new Pool(3, { rate: new RateLimiter(1, 5000) });
    const lock = new Lock();
    const first = pool.run(async () => {
      await flushMicrotasks();
      await lock.run(() => {});
    });
    const second = lock.run(() => pool.run(() => {}));
    await time.pass(6000, 100);
    await Promise.all([first, second]);
    pool.limit = 0;
    const timedOut = assert.rejects(pool.run(() => {}, { timeout: 2000 }), {
      message: "Cannot run in pool: timed out after 2000 ms",
    });
    await time.pass(3000, 100);
    await timedOut;
    assert.deepEqual(kindsOf(findings), []);
  }));

test("watchdog: a map's slots are known by the line of the map", () =>
  watched(async (findings, time) => {
    const pool = new Pool(1, { name: "pages" });
    const end = deferred();
    const here = line(1);
    const results = pool.map([1, 2], () => end.promise);
    const read = (async () => {
      for await (const _ of results);
    })();
    await time.pass(11_000, 1000);
    const [held] = findings;
    assert.ok(held!.message.includes(`, acquired at ${here}`), held!.message);
    assert.deepEqual(snapshot()[0]!.holders.map(({ site }) => `${site}`), [here]);
    end.resolve();
    await read;
  }));

test("watchdog: a long queue is one finding, until it has been short", () =>
  watched(async (findings, time) => {
    const lock = new Lock();
    for (let round = 1; round <= 2; round++) {
      const guard = await lock.acquire();
      const waiters = Array.from({ length: 1000 }, () => lock.run(() => {}));
      await time.pass(15_000, 100);
      assert.deepEqual(kindsOf(findings), Array.from({ length: round }, () => ["held", "waited"]).flat());
      assert.match(findings.at(-1)!.message, /\(999 other calls wait, too\)/);
      guard.release();
      await Promise.all(waiters);
    }
  }, { held: 9_000 }));

test("watchdog: thousands of findings come in portions", () =>
  watched(async (findings, time) => {
    const locks = Array.from({ length: 100 }, () => new Lock());
    for (const lock of locks) void lock.acquire();
    time.advance(10_000);
    assert.ok(findings.length > 0 && findings.length <= 20, `${findings.length}`);
    await time.pass(2_000, 100);
    assert.equal(findings.length, 100);
  }));

test("watchdog: forgotten permits are one finding for each place", () =>
  watched(async (findings, time) => {
    const semaphore = new Semaphore(10);
    for (let i = 0; i < 5; i++) await semaphore.acquire();
    await semaphore.acquire();
    await time.pass(20_000, 100);
    assert.deepEqual(kindsOf(findings), ["held", "held"]);
  }));

test("watchdog: a time-out names the oldest holder, while a watchdog is on", () =>
  withFakeTime(async (time) => {
    const lock = new Lock({ name: "orders" });
    const message = async () => {
      const waiter = watch(lock.acquire({ timeout: 100 }));
      time.advance(100);
      await flushMicrotasks();
      assert.ok(waiter.reason instanceof TimeoutError);
      return waiter.reason.message;
    };
    const plain = 'Cannot acquire lock "orders": timed out after 100 ms';
    {
      using _ = watchdog();
      using _guard = await lock.acquire();
      time.advance(3000);
      assert.match(
        await message(),
        /^Cannot acquire lock "orders": timed out after 100 ms; held for 3100 ms, acquired at watchdog_test\.ts:\d+$/,
      );
      const now = await watch(lock.acquire({ timeout: 0 })).promise.catch((error: Error) => error.message);
      assert.match(now as string, /timed out after 0 ms; held for 3100 ms, acquired at watchdog_test\.ts:\d+$/);
      const all = await acquireAll([lock], { timeout: 0 }).catch((error) => error.message);
      assert.equal(all, (now as string).replace(/ (lock .*):( timed out .* ms);/, " all:$2 waiting for $1;"));
    }
    using _guard = await lock.acquire();
    using _observing = observe({});
    assert.equal(await message(), plain);
  }));

test("watchdog: one timer, however many wait, and none while nothing does", () =>
  withFakeTime(async (time) => {
    const watching = watchdog({ report() {} });
    assert.equal(time.timers, 0);
    const lock = new Lock();
    const guard = await lock.acquire();
    const waiters = Array.from({ length: 10_000 }, () => lock.run(() => {}));
    assert.equal(time.timers, 1);
    const { started } = time;
    await time.pass(30_000, 100);
    assert.ok(time.started - started < 10, `${time.started - started} timers`);
    guard.release();
    await Promise.all(waiters);
    await time.pass(30_000, 100);
    assert.equal(time.timers, 0);
    await lock.acquire();
    assert.equal(time.timers, 1);
    watching[Symbol.dispose]();
    assert.equal(time.timers, 0);
    assert.equal(hook, undefined);
  }));

test("watchdog: it goes on after a fake clock has gone away with its timer", async () => {
  const findings: Finding[] = [];
  using _ = watchdog({ held: 5, report: (_, finding) => void findings.push(finding) });
  const time = new FakeTime();
  new Thing("lock", "fake").grant({});
  time.restore();
  assert.equal(time.timers, 1);
  new Thing("lock", "real").grant({});
  while (!findings.some(({ calls }) => calls[0]!.name === "real")) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
});

test("watchdog: Infinity turns a search off", () =>
  watched(async (findings, time) => {
    const lock = new Lock();
    await lock.acquire();
    const controller = new AbortController();
    const waiter = watch(lock.acquire({ signal: controller.signal }));
    await time.pass(100_000, 100);
    assert.equal(findings.length, 0);
    controller.abort();
    await flushMicrotasks();
    assert.equal(waiter.state, "rejected");
  }, { held: Infinity, waited: Infinity, self: Infinity }));

test("watchdog: by default it warns, with the words and the full paths", () =>
  withFakeTime(async (time) => {
    const { warn } = console;
    const warnings: unknown[][] = [];
    console.warn = (...args: unknown[]) => void warnings.push(args);
    try {
      using _ = watchdog({ held: 10 });
      using _guard = await new Lock({ name: "orders" }).acquire();
      await time.pass(1000, 100);
    } finally {
      console.warn = warn;
    }
    assert.equal(warnings.length, 1);
    assert.match(
      `${warnings[0]}`,
      /^Interlock: long hold: lock "orders" has been held .*\n {4}at \S+tests\/diagnostics\/watchdog_test\.ts:\d+:\d+$/,
    );
  }));

test("watchdog: it reports nothing once report has disposed of it", () =>
  withFakeTime(async (time) => {
    const messages: string[] = [];
    const watching = watchdog({
      report(message) {
        messages.push(message);
        watching[Symbol.dispose]();
      },
    });
    for (const wait of [0, 0, 5_000]) {
      time.advance(wait);
      new Lock().tryAcquire();
    }
    await time.pass(60_000, 100);
    assert.equal(messages.length, 1);
    assert.equal(time.timers, 0);
  }));

test("watchdog: wrong options are refused", () => {
  for (const name of ["waited", "held", "self"]) {
    assert.throws(() => watchdog({ [name]: NaN }), RangeError);
    assert.throws(() => watchdog({ [name]: -1 }), RangeError);
    assert.throws(() => watchdog({ [name]: "5" }), TypeError);
  }
  assert.throws(
    () => watchdog({ self: "rejct" as never }),
    new TypeError('self must be a number of milliseconds or "reject", got "rejct"'),
  );
  assert.throws(() => watchdog({ report: 5 as never }), TypeError);
  assert.throws(() => watchdog(5 as never), TypeError);
  assert.equal(hook, undefined);
});

test("watchdog: without sites it takes no stack traces, and finds the same", () =>
  withFakeTime(async (time) => {
    using dog = watchdog({ waited: 50, held: 50, sites: false, report() {} });
    const lock = new Lock();
    const guard = await lock.acquire();
    const error = await Promise.all([lock.acquire({ timeout: 60 }).catch((error: Error) => error), time.pass(60, 10)]);
    assert.match((error[0] as Error).message, /^Cannot acquire lock: timed out after 60 ms; held for 60 ms$/);
    assert.deepEqual(dog.findings().map(({ kind, calls }) => [kind, calls[0]!.site]), [["held", undefined]]);
    guard.release();
  }));

test("watchdog: waits within runs that have ended hide no later deadlock of their lock", () =>
  watched(async (findings, time) => {
    const [outer, inner] = [new Lock(), new Lock()];
    let guard = await inner.acquire(); // the lock is held all the time
    for (let round = 0; round < 20; round++) {
      const run = outer.run(() => inner.acquire());
      await flushMicrotasks();
      const next = inner.acquire();
      guard.release();
      (await run).release();
      guard = await next;
      await time.pass(600, 100);
    }
    assert.deepEqual(findings, []);
    const stuck = inner.run(() => inner.acquire({ timeout: 5000 })).catch(() => {});
    guard.release();
    await time.pass(1000, 100);
    assert.deepEqual(kindsOf(findings), ["self"]);
    await time.pass(5000, 100);
    await stuck;
  }, { self: 500, waited: Infinity, held: Infinity }));

test("observe: keys are labelled by what they are keys of", async () => {
  const labels: string[] = [];
  using _observing = observe({ grant: (_, { thing }) => void labels.push(thing.label) });
  const [name, key] = ["hosts", "a"];
  (await new KeyedMutex({ name }).acquire(key)).release();
  (await new KeyedSemaphore(1, { name }).acquire(key)).release();
  await new KeyedRateLimiter(1, 1, { name }).acquire(key);
  assert.deepEqual(labels, ["lock", "semaphore", "rate limiter"].map((noun) => `${noun} "hosts" for key "a"`));
});

test("observe: the call as it is now, and its thing", async () => {
  const seen: ObservedCall[] = [];
  using _observing = observe({ wait: (_, call) => seen.push(call), release: (_, call) => seen.push(call) });
  const mutex = new KeyedMutex<number>({ name: "users" });
  const guard = await mutex.acquire(42);
  const waiting = mutex.acquire(42);
  assert.deepEqual(seen.map(({ state, hasWaited, permits }) => [state, hasWaited, permits]), [["waits", true, 1]]);
  guard.release();
  const waited = await waiting;
  const [waiter, holder] = seen as [ObservedCall, ObservedCall];
  assert.deepEqual([waiter.state, holder.state, holder.hasWaited], ["holds", "ended", false]);
  assert.equal(waiter.thing, holder.thing);
  assert.deepEqual({ ...waiter.thing }, {
    kind: "key",
    name: "users",
    key: 42,
    isHeld: true,
    isRemote: false,
    label: 'lock "users" for key 42',
  });
  waited.release();
});
