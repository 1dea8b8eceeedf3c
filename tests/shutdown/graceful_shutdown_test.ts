/** GracefulShutdown without a server: requesting, tracking, draining, servers in the report. */
import assert from "node:assert/strict";
import process from "node:process";
import { ClosedError, GracefulShutdown, type GracefulShutdownOptions } from "../../mod.ts";
import { test } from "../_test.ts";
import { finish, gate, quiet } from "./client.ts";
import { flushMicrotasks, nextTurn, rejectsWith, until, watch, withFakeTime } from "../_tools.ts";

test("GracefulShutdown: asking takes readiness away and aborts the signal at once", async () => {
  const shutdown = quiet();
  assert.deepEqual([shutdown.ready, shutdown.signal.aborted, shutdown.forced.aborted], [true, false, false]);
  const reason = { why: "enough" };
  let seen: boolean | undefined;
  shutdown.signal.addEventListener("abort", () => seen = shutdown.ready);
  shutdown.request(reason);
  assert.equal(seen, false);
  assert.equal(shutdown.signal.reason, reason);
  const report = await shutdown.finished;
  assert.equal(report.reason, reason);
  assert.deepEqual([report.drained, report.remaining, report.errors], [true, [], []]);
  assert.equal(shutdown.forced.aborted, false);
});

test("GracefulShutdown: a second request changes nothing", async () => {
  const shutdown = quiet();
  shutdown.signal.addEventListener("abort", () => shutdown.request("from a listener"));
  shutdown.request("first");
  shutdown.request("second");
  assert.equal((await shutdown.finished).reason, "first");
  shutdown.request("third");
  assert.equal(shutdown.signal.reason, "first");
});

test("GracefulShutdown: request without a reason is the platform's AbortError", async () => {
  const shutdown = quiet();
  shutdown.request();
  assert.equal(shutdown.signal.reason.name, "AbortError");
  assert.equal((await shutdown.finished).reason, shutdown.signal.reason);
});

test("GracefulShutdown: it waits for what is tracked, however it ends", async () => {
  const shutdown = quiet();
  const [one, two, three] = [gate(), gate(), gate()];
  shutdown.track(one.promise, "one");
  const failing = shutdown.track(two.promise.then(() => Promise.reject(new Error("two"))), "two");
  const three$ = shutdown.track(() => three.promise, "three");
  assert.deepEqual([shutdown.active, shutdown.labels], [3, ["one", "two", "three"]]);
  shutdown.request();
  const finished = watch(shutdown.finished);
  two.open();
  await assert.rejects(failing, /two/);
  one.open();
  await nextTurn();
  assert.deepEqual([finished.state, shutdown.labels], ["pending", ["three"]]);
  three.open();
  await three$;
  assert.equal((await shutdown.finished).drained, true);
});

test("GracefulShutdown: track gives the promise back, or the function's result", async () => {
  const shutdown = quiet();
  const promise = Promise.resolve(1);
  assert.equal(shutdown.track(promise), promise);
  assert.equal(await shutdown.track((signal) => signal === shutdown.signal), true);
  const boom = new Error("boom");
  await assert.rejects(shutdown.track(() => Promise.reject(boom)), boom);
  await assert.rejects(shutdown.track(() => assert.fail(boom)), boom);
  const thenable = { then: (resolve: (value: number) => void) => resolve(5) } as unknown as PromiseLike<number>;
  assert.equal(await shutdown.track(thenable), 5);
  await flushMicrotasks();
  assert.equal(shutdown.active, 0);
  await finish(shutdown);
});

test("GracefulShutdown: labels default to the function's name", () => {
  const shutdown = quiet();
  shutdown.track(function reindex() {
    return new Promise(() => {});
  });
  shutdown.track(new Promise(() => {}));
  assert.deepEqual(shutdown.labels, ["reindex", "task"]);
});

test("GracefulShutdown: track works while draining, and the drain waits for it", async () => {
  const shutdown = quiet();
  const [first, second] = [gate(), gate()];
  shutdown.track(first.promise);
  shutdown.request();
  await nextTurn();
  shutdown.track(second.promise, "second");
  first.open();
  await nextTurn();
  assert.deepEqual(shutdown.labels, ["second"]);
  second.open();
  assert.equal((await shutdown.finished).drained, true);
});

test("GracefulShutdown: work that follows the last one by microtasks is waited for, or refused", async () => {
  for (let microtasks = 0; microtasks < 12; microtasks++) {
    const shutdown = quiet();
    const [first, second] = [gate(), gate()];
    const follows = shutdown.track(first.promise).then(async () => {
      for (let i = 0; i < microtasks; i++) await undefined;
      await shutdown.track(second.promise);
    });
    const outcome = watch(follows);
    shutdown.request();
    const finished = watch(shutdown.finished);
    await nextTurn();
    first.open();
    await nextTurn();
    assert.equal(finished.state, outcome.state === "rejected" ? "fulfilled" : "pending", `${microtasks} microtasks`);
    if (outcome.state === "rejected") assert.ok(outcome.reason instanceof ClosedError);
    second.open();
    assert.equal((await shutdown.finished).drained, true);
    assert.equal(shutdown.active, 0);
  }
});

test("GracefulShutdown: after the drain, no work is taken", async () => {
  const shutdown = quiet();
  await finish(shutdown);
  await assert.rejects(shutdown.track(Promise.resolve()), ClosedError);
  let called = false;
  await assert.rejects(shutdown.track(() => called = true), { name: "ClosedError", message: /^Cannot track: / });
  assert.equal(called, false);
  assert.throws(() => shutdown.webSocket({ close() {} }), ClosedError);
  // Bad arguments come first.
  await assert.rejects(shutdown.track(1 as unknown as Promise<void>), TypeError);
  assert.throws(() => shutdown.defer(1 as unknown as () => void), TypeError);
});

test("GracefulShutdown: disposing of it asks and waits", async () => {
  const shutdown = quiet();
  const work = gate();
  shutdown.track(work.promise);
  const disposed = watch(shutdown[Symbol.asyncDispose]());
  await nextTurn();
  assert.deepEqual([shutdown.ready, disposed.state], [false, "pending"]);
  work.open();
  await disposed.promise;
  assert.equal((await shutdown.finished).drained, true);
});

test("GracefulShutdown: a promise whose then throws, or never calls back, is not in flight for ever", async () => {
  const shutdown = quiet({ grace: Infinity });
  const throwing = () => assert.fail("boom");
  const own = (then: unknown) => Object.assign(Promise.resolve(), { then }) as PromiseLike<void>;
  for (const odd of [{ then: throwing } as PromiseLike<void>, own(throwing), own(() => {})]) {
    assert.equal(shutdown.track(odd), odd);
  }
  assert.equal((await finish(shutdown)).drained, true);
});

test("GracefulShutdown: work that cannot be followed to its end is not in flight", async () => {
  const shutdown = quiet({ grace: Infinity });
  const error = new Error("boom");
  const get = () => assert.fail(error);
  await rejectsWith(shutdown.track(Object.defineProperty(Promise.resolve(), "constructor", { get })), error);
  await rejectsWith(shutdown.track(Object.defineProperty(() => {}, "name", { get })), error);
  assert.throws(() => shutdown.webSocket({ close() {}, addEventListener: get }), error);
  assert.deepEqual(shutdown.labels, []);
  assert.equal((await finish(shutdown)).drained, true);
});

test("GracefulShutdown: a server that fails as it is asked is in the report", async () => {
  const shutdown = quiet({ grace: Infinity });
  shutdown.handler(() => new Response());
  const boom = new Error("boom");
  shutdown.attach({
    stop() {},
    get pendingRequests(): number {
      return assert.fail(boom);
    },
  });
  const server = { emit: () => true, close: (callback?: () => void) => callback?.(), closeAllConnections() {} };
  Object.freeze(shutdown.attach(server));
  const { drained, errors } = await finish(shutdown);
  assert.ok(drained && errors.includes(boom) && errors.some((error) => error instanceof TypeError), String(errors));
});

test("GracefulShutdown: a server whose queue cannot be looked at is in the report", async () => {
  const shutdown = quiet();
  const boom = new Error("boom");
  const info = { hostname: "localhost", requestIP: () => assert.fail(boom) };
  const handle = shutdown.handler((_request: Request, _info: typeof info) => new Response("x"));
  let stopped = false;
  shutdown.attach({ stop: () => void (stopped = true) });
  await handle(new Request("http://localhost/"), info);
  shutdown.request();
  await until(() => stopped);
  info.requestIP = () => null as never;
  const { drained, errors } = await shutdown.finished;
  assert.ok(drained && errors.includes(boom), String(errors));
});

for (const [grace, when] of [[0, "before it has stopped"], [100, "after it has stopped"]] as const) {
  test(`GracefulShutdown: a server that cannot be closed by force, ${when} listening, is in the report`, async () => {
    const shutdown = quiet({ grace });
    const boom = new Error("boom");
    shutdown.attach({ stop: (force) => force ? Promise.reject(boom) : new Promise(() => {}) });
    const { drained, errors } = await finish(shutdown);
    assert.deepEqual([drained, errors], [false, [boom]]);
  });
}

test("GracefulShutdown: a server that is still closing is forced only where it says that nothing is in flight", () =>
  withFakeTime(async (time) => {
    for (
      const counters of [{}, { pendingRequests: 1, pendingWebSockets: 0 }, { pendingRequests: 0, pendingWebSockets: 0 }]
    ) {
      const shutdown = quiet({ grace: 5000 });
      const stops: boolean[] = [];
      let closed = () => {};
      const stop = (force = false) => {
        stops.push(force);
        if (force) closed();
        return new Promise<void>((resolve) => force ? resolve() : closed = resolve);
      };
      shutdown.attach({ stop, ...counters });
      shutdown.request();
      await flushMicrotasks();
      await time.pass(2000, 100);
      const idle = "pendingRequests" in counters && counters.pendingRequests === 0;
      assert.deepEqual(stops, idle ? [false, true] : [false], JSON.stringify(counters));
      closed();
      assert.equal((await shutdown.finished).drained, true);
    }
  }));

test("GracefulShutdown: bad arguments", async () => {
  const cases: [GracefulShutdownOptions | unknown, typeof TypeError | typeof RangeError, RegExp][] = [
    [5, TypeError, /options must be an object such as \{ grace \}, got 5/],
    [null, TypeError, /options/],
    [{ grace: "1" }, TypeError, /grace must be a number of milliseconds, got "1"/],
    [{ grace: NaN }, RangeError, /grace must be 0 or more milliseconds, got NaN/],
    [{ grace: -1 }, RangeError, /grace .*-1/],
    [{ delay: -1 }, RangeError, /delay/],
    [{ delay: 2, grace: 1 }, RangeError, /delay must not be more than grace \(1 ms\), got 2/],
    [{ idle: "x" }, TypeError, /idle/],
    [{ ready: "yes" }, TypeError, /ready must be a boolean, got "yes"/],
    [{ late: "maybe" }, RangeError, /late must be "serve" or "refuse", got "maybe"/],
    [{ late: 5 }, TypeError, /late must be a string, got 5/],
    [{ retryAfter: 0.5 }, RangeError, /retryAfter must be a whole number of milliseconds, got 0.5/],
    [{ debounce: -1 }, RangeError, /debounce must be 0 or more milliseconds, got -1/],
    [{ signals: "SIGTERM" }, TypeError, /signals must be an array, got "SIGTERM"/],
    [{ signals: [15] }, TypeError, /signals must contain strings, got 15/],
    [{ signals: ["TERM"] }, RangeError, /signals must contain names like "SIGTERM", got "TERM"/],
    [{ signals: ["SIGINT", "SIGTREM"] }, RangeError, /signals must contain names like "SIGTERM", got "SIGTREM"/],
    [{ signals: ["SIGTERM", "SIGKILL"] }, RangeError, /signals must contain signals that can be caught, got "SIGKILL"/],
  ];
  const before = process.listenerCount("SIGTERM");
  for (const [options, type, message] of cases) {
    const make = () => new GracefulShutdown(options as GracefulShutdownOptions);
    assert.throws(make, (error: Error) => error instanceof type && message.test(error.message), String(message));
  }
  assert.equal(process.listenerCount("SIGTERM"), before);
  const shutdown = quiet();
  const wrong = (value: unknown) => value as never;
  await assert.rejects(shutdown.track(wrong(undefined)), TypeError);
  await assert.rejects(shutdown.track(() => {}, wrong(1)), /label must be a string, got 1/);
  assert.throws(
    () => shutdown.handler(() => new Response(), wrong("x")),
    /options must be an object such as \{ label \}, got "x"/,
  );
  assert.throws(() => shutdown.handler(wrong("x")), /fetchHandler must be a function, got "x"/);
  const steps = wrong(function* () {});
  await assert.rejects(shutdown.track(steps), /^TypeError: work must not be a generator function/);
  assert.throws(() => shutdown.handler(steps), /^TypeError: fetchHandler must not be a generator function/);
  assert.throws(() => shutdown.defer(steps), /^TypeError: fn must not be a generator function/);
  assert.throws(
    () => shutdown.handler(wrong({ fetch() {} })),
    /fetchHandler must be a function \(pass its fetch\), got/,
  );
  const app = Object.assign(() => {}, { listen() {} }); // of Express, say
  assert.throws(() => shutdown.handler(wrong(app)), /\(attach the server that app\.listen returns\), got function/);
  assert.throws(() => shutdown.handler(() => new Response(), { label: wrong(1) }), /label must be a function, got 1/);
  assert.throws(() => shutdown.attach(wrong({})), /server must be a server of .*, got an object \(Object\)/);
  assert.throws(() => shutdown.attach(wrong(undefined)), TypeError);
  assert.throws(() => shutdown.attach(wrong({ stop() {} }), { label: wrong("x") }), /label/);
  assert.throws(() => shutdown.defer(wrong(1)), /fn must be a function, .*, got 1/);
  assert.throws(() => shutdown.defer(() => {}, wrong(1)), /label/);
  assert.throws(() => shutdown.webSocket(wrong(1)), /socket must be a WebSocket, got 1/);
  assert.throws(() => shutdown.webSocket(wrong({})), /socket must be a WebSocket, got an object \(Object\)/);
  for (const bad of [1, { label: 1 }, { close: "1001" }]) {
    assert.throws(() => shutdown.webSocket({ close() {}, readyState: 1 }, wrong(bad)), TypeError);
  }
  assert.equal(shutdown.active, 0);
});

test("GracefulShutdown: forcing leaves the global dispatchEvent as it was", async () => {
  const { dispatchEvent } = globalThis;
  const shutdown = quiet({ grace: 20 });
  shutdown.track(new Promise(() => {}));
  assert.equal((await finish(shutdown)).drained, false);
  assert.equal(globalThis.dispatchEvent, dispatchEvent);
});
