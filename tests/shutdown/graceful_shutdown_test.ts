/** GracefulShutdown without a server: requesting, tracking, forcing, cleaning up. */
import assert from "node:assert/strict";
import process from "node:process";
import { ClosedError, GracefulShutdown, type GracefulShutdownOptions, TimeoutError } from "../../mod.ts";
import { test } from "../_test.ts";
import { flushMicrotasks, nextTurn, rejectsWith, watch, withFakeTime } from "../_tools.ts";

/** One that leaves the process's signals alone. */
function quiet(options?: GracefulShutdownOptions): GracefulShutdown {
  return new GracefulShutdown({ signals: [], ...options });
}

/** Delivers an OS signal, without sending it to the tests. */
function deliver(name: string): void {
  (process as { emit(name: string): boolean }).emit(name);
}

function gate(): { promise: Promise<void>; open: () => void } {
  let open!: () => void;
  const promise = new Promise<void>((resolve) => open = resolve);
  return { promise, open };
}

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
  assert.ok(report.elapsed >= 0);
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
  await assert.rejects(
    shutdown.track(() => {
      throw boom;
    }),
    boom,
  );
  const thenable = { then: (resolve: (value: number) => void) => resolve(5) } as unknown as PromiseLike<number>;
  assert.equal(await shutdown.track(thenable), 5);
  await flushMicrotasks();
  assert.equal(shutdown.active, 0);
  shutdown.request();
  await shutdown.finished;
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

test("GracefulShutdown: what the last one tracks when it ends is waited for, too", async () => {
  const shutdown = quiet();
  const [first, second] = [gate(), gate()];
  first.promise.then(() => shutdown.track(second.promise, "second"));
  shutdown.track(first.promise);
  shutdown.request();
  const finished = watch(shutdown.finished);
  first.open();
  await nextTurn();
  assert.equal(finished.state, "pending");
  second.open();
  assert.equal((await shutdown.finished).drained, true);
});

test("GracefulShutdown: after the drain, no work is taken", async () => {
  const shutdown = quiet();
  shutdown.request();
  await shutdown.finished;
  await assert.rejects(shutdown.track(Promise.resolve()), ClosedError);
  let called = false;
  await assert.rejects(shutdown.track(() => called = true), { name: "ClosedError", message: /^Cannot track: / });
  assert.equal(called, false);
  assert.throws(() => shutdown.webSocket({ close() {} }), ClosedError);
  // Bad arguments come first.
  await assert.rejects(shutdown.track(1 as unknown as Promise<void>), TypeError);
  assert.throws(() => shutdown.defer(1 as unknown as () => void), TypeError);
});

test("GracefulShutdown: what is left when the grace time is over is cut and listed", async () => {
  const shutdown = quiet({ grace: 20 });
  const settled = gate();
  shutdown.track(settled.promise, "settled");
  shutdown.track(new Promise(() => {}), "endless");
  shutdown.track(() => new Promise(() => {}), "endless too");
  shutdown.request("go");
  settled.open();
  const { drained, remaining, elapsed, reason } = await shutdown.finished;
  assert.deepEqual([drained, remaining, reason], [false, ["endless", "endless too"], "go"]);
  assert.ok(elapsed >= 19, `after ${elapsed} ms`);
  assert.ok(shutdown.forced.aborted);
  assert.ok(shutdown.forced.reason instanceof TimeoutError);
  assert.equal(shutdown.forced.reason.message, "Cannot drain: not done after 20 ms");
});

test("GracefulShutdown: no grace at all, and grace without end", async () => {
  const none = quiet({ grace: 0 });
  none.track(new Promise(() => {}), "late");
  none.request();
  assert.deepEqual((await none.finished).remaining, ["late"]);
  const idle = quiet({ grace: 0 });
  idle.request();
  assert.equal((await idle.finished).drained, true);
  const endless = quiet({ grace: Infinity });
  const work = gate();
  endless.track(work.promise);
  endless.request();
  work.open();
  assert.equal((await endless.finished).drained, true);
  const long = quiet({ grace: 2 ** 33 });
  long.track(new Promise((resolve) => setTimeout(resolve, 10)));
  long.request();
  assert.equal((await long.finished).drained, true);
});

test("GracefulShutdown: the first signal of the system asks, the second forces, then nobody listens", async () => {
  const before = process.listenerCount("SIGTERM");
  const shutdown = new GracefulShutdown({ signals: ["SIGTERM", "SIGINT", "SIGTERM"], debounce: 0 });
  assert.equal(process.listenerCount("SIGTERM"), before + 1);
  shutdown.track(new Promise(() => {}), "endless");
  deliver("SIGTERM");
  const { reason } = shutdown.signal;
  assert.equal(reason.name, "AbortError");
  assert.match(reason.message, /SIGTERM/);
  await nextTurn();
  assert.equal(shutdown.forced.aborted, false);
  deliver("SIGINT");
  assert.ok(shutdown.forced.aborted);
  assert.match(shutdown.forced.reason.message, /SIGINT/);
  assert.equal(process.listenerCount("SIGTERM"), before);
  const report = await shutdown.finished;
  assert.deepEqual([report.reason, report.remaining], [reason, ["endless"]]);
});

test("GracefulShutdown: an echo of the first signal does not force, a later one does", async () => {
  await withFakeTime(async (time) => {
    const shutdown = new GracefulShutdown({ signals: ["SIGTERM", "SIGINT"], debounce: 5 });
    shutdown.track(new Promise(() => {}), "endless");
    deliver("SIGTERM");
    time.advance(4);
    deliver("SIGTERM");
    deliver("SIGINT");
    assert.equal(shutdown.forced.aborted, false);
    time.advance(1);
    deliver("SIGINT");
    assert.ok(shutdown.forced.aborted);
    assert.deepEqual((await shutdown.finished).remaining, ["endless"]);
  });
});

test("GracefulShutdown: a second signal within 250 ms is the same one, with or without a terminal", async () => {
  const { stderr } = process;
  const before = Object.getOwnPropertyDescriptor(stderr, "isTTY");
  for (const isTTY of [true, false]) {
    Object.defineProperty(stderr, "isTTY", { value: isTTY, configurable: true });
    const shutdown = new GracefulShutdown();
    const work = gate();
    shutdown.track(work.promise);
    for (let i = 0; i < 3; i++) deliver("SIGTERM");
    deliver("SIGINT");
    work.open();
    assert.equal((await shutdown.finished).ok, true);
    assert.equal(shutdown.forced.aborted, false);
  }
  if (before === undefined) delete (stderr as Partial<typeof stderr>).isTTY;
  else Object.defineProperty(stderr, "isTTY", before);
});

test("GracefulShutdown: a second signal forces from 250 ms on", async () => {
  await withFakeTime(async (time) => {
    const shutdown = new GracefulShutdown();
    shutdown.track(new Promise(() => {}), "endless");
    deliver("SIGTERM");
    time.advance(249);
    deliver("SIGTERM");
    assert.equal(shutdown.forced.aborted, false);
    time.advance(1);
    deliver("SIGTERM");
    assert.equal(shutdown.forced.aborted, true);
    assert.deepEqual((await shutdown.finished).remaining, ["endless"]);
  });
});

test("GracefulShutdown: a callback or a step that is cancelled by force has not failed", async () => {
  const boom = new Error("boom");
  const errors: ((signal: AbortSignal) => unknown)[] = [
    (signal) => signal.reason,
    (signal) => new Error("wrapped", { cause: signal.reason }),
    () => Object.assign(new Error("canceled"), { code: "ERR_CANCELED" }),
    () => Object.assign(new Error("aborted"), { name: "AbortError" }),
    () => boom,
  ];
  for (const way of ["onShutdown", "defer"] as const) {
    const shutdown = quiet({ grace: 20 });
    for (const error of errors) {
      shutdown[way]((signal) =>
        new Promise((_, reject) => {
          if (signal.aborted) reject(error(signal));
          else signal.addEventListener("abort", () => reject(error(signal)));
        })
      );
    }
    shutdown.request();
    assert.deepEqual((await shutdown.finished).errors, [boom], way);
  }
});

test("GracefulShutdown: a clean-up step that is cancelled by force was cut", async () => {
  const shutdown = quiet({ grace: 20 });
  const cancelled = (signal: AbortSignal) =>
    new Promise((_, reject) => {
      if (signal.aborted) reject(signal.reason);
      else signal.addEventListener("abort", () => reject(signal.reason));
    });
  shutdown.defer(cancelled, "begins too late");
  shutdown.defer(() => {}, "ends at once");
  shutdown.defer(cancelled, "flush");
  shutdown.request();
  const { ok, drained, remaining, errors } = await shutdown.finished;
  assert.deepEqual([ok, drained, remaining, errors], [false, false, ["flush", "begins too late"], []]);
});

test("GracefulShutdown: what is in flight when it is forced was cut, also if it ends by itself at that moment", async () => {
  const untilForced = (forced: AbortSignal, steps: number) =>
    new Promise<void>((resolve) => {
      forced.addEventListener("abort", async () => {
        for (let i = 0; i < steps; i++) await undefined;
        resolve();
      });
    });
  for (const steps of [0, 1, 2, 3, 10]) {
    const shutdown = quiet({ grace: 20 });
    shutdown.onShutdown((forced) => untilForced(forced, steps), "closing");
    void shutdown.track(untilForced(shutdown.forced, steps), "job");
    void shutdown.track(Promise.resolve(), "done");
    shutdown.request();
    const { ok, drained, remaining, errors } = await shutdown.finished;
    assert.deepEqual([ok, drained, [...remaining].sort(), errors], [false, false, ["closing", "job"], []], `${steps}`);
  }
});

test("GracefulShutdown: its signals have any number of listeners", async () => {
  const warnings: Error[] = [];
  const listener = (warning: Error) => void warnings.push(warning);
  process.on("warning", listener);
  const shutdown = quiet();
  for (let i = 0; i < 100; i++) {
    shutdown.signal.addEventListener("abort", () => i);
    shutdown.forced.addEventListener("abort", () => i);
  }
  await nextTurn();
  process.off("warning", listener);
  assert.deepEqual(warnings.filter(({ name }) => name === "MaxListenersExceededWarning"), []);
});

test("GracefulShutdown: after request, the first signal of the system changes nothing", async () => {
  const shutdown = new GracefulShutdown();
  const work = gate();
  shutdown.track(work.promise);
  shutdown.request("by hand");
  deliver("SIGTERM");
  assert.equal(shutdown.signal.reason, "by hand");
  assert.equal(shutdown.forced.aborted, false);
  work.open();
  assert.equal((await shutdown.finished).drained, true);
});

test("GracefulShutdown: it listens to what it was told to, and no longer than needed", async () => {
  const count = () => ["SIGINT", "SIGTERM", "SIGHUP"].map((name) => process.listenerCount(name));
  const before = count();
  const none = quiet();
  assert.deepEqual(count(), before);
  const shutdown = new GracefulShutdown();
  assert.deepEqual(count(), [before[0]! + 1, before[1]! + 1, before[2]]);
  const hup = new GracefulShutdown({ signals: ["SIGHUP"] });
  assert.deepEqual(count(), before.map((n) => n + 1));
  for (const each of [none, shutdown, hup]) each.request();
  await Promise.all([none.finished, shutdown.finished, hup.finished]);
  assert.deepEqual(count(), before);
});

test("GracefulShutdown: the delay is waited out, and cut short by force", async () => {
  const shutdown = quiet({ delay: 30 });
  shutdown.request();
  assert.equal(shutdown.ready, false);
  assert.ok((await shutdown.finished).elapsed >= 29);
  const before = process.listenerCount("SIGTERM");
  const forced = new GracefulShutdown({ grace: 100_000, delay: 100_000, signals: ["SIGTERM"], debounce: 0 });
  deliver("SIGTERM");
  deliver("SIGTERM");
  assert.equal((await forced.finished).drained, true);
  assert.equal(process.listenerCount("SIGTERM"), before);
});

test("GracefulShutdown: clean-up steps run in reverse order, one after the other, after the drain", async () => {
  const shutdown = quiet();
  const order: string[] = [];
  const work = gate();
  shutdown.defer(async (signal) => {
    order.push("first in");
    assert.equal(signal, shutdown.forced);
    await nextTurn();
    order.push("first in, end");
  });
  shutdown.defer(() => Promise.reject(new Error("second")), "second");
  shutdown.defer(() => {
    throw new Error("third");
  });
  shutdown.defer(async () => {
    order.push("last in");
    await nextTurn();
    order.push("last in, end");
  });
  shutdown.track(work.promise.then(() => order.push("work")));
  shutdown.request();
  await nextTurn();
  assert.deepEqual(order, []);
  work.open();
  const { drained, errors } = await shutdown.finished;
  assert.equal(drained, true);
  assert.deepEqual(order, ["work", "last in", "last in, end", "first in", "first in, end"]);
  assert.deepEqual(errors.map((error) => (error as Error).message), ["third", "second"]);
});

test("GracefulShutdown: a clean-up step is bounded by the rest of the grace time", async () => {
  const shutdown = quiet({ grace: 30 });
  const order: string[] = [];
  shutdown.defer(() => void order.push("quick"), "quick");
  shutdown.defer(() => new Promise(() => {}), "pool");
  shutdown.defer(() => new Promise(() => {}), "database");
  shutdown.request();
  const { drained, remaining, errors } = await shutdown.finished;
  assert.deepEqual([drained, remaining, order], [true, [], ["quick"]]);
  assert.ok(errors.every((error) => error instanceof TimeoutError));
  assert.deepEqual(errors.map((error) => (error as Error).message), [
    "Cannot finish database: the time is over",
    "Cannot finish pool: the time is over",
  ]);
});

test("GracefulShutdown: clean-up steps run after a forced drain, too", async () => {
  const shutdown = quiet({ grace: 10 });
  let closed = false;
  shutdown.defer(async () => {
    await flushMicrotasks();
    closed = true;
  });
  shutdown.track(new Promise(() => {}), "endless");
  shutdown.request();
  const { remaining, errors } = await shutdown.finished;
  assert.deepEqual([remaining, errors, closed], [["endless"], [], true]);
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

test("GracefulShutdown: WebSockets are told with 1001, after the signal's listeners, and counted until closed", async () => {
  const shutdown = quiet();
  const events: string[] = [];
  const socket = Object.assign(new EventTarget(), { close: (code: number) => events.push(`close ${code}`) });
  const closed = shutdown.webSocket({ close: (code) => events.push(`bun ${code}`) }, "chat");
  shutdown.webSocket(socket);
  shutdown.signal.addEventListener("abort", () => events.push("farewell"));
  shutdown.request();
  assert.deepEqual(events, ["farewell", "bun 1001", "close 1001"]);
  assert.deepEqual(shutdown.labels, ["chat", "WebSocket"]);
  closed();
  closed();
  assert.deepEqual(shutdown.labels, ["WebSocket"]);
  shutdown.webSocket({ close: () => events.push("told late") })();
  assert.equal(events.at(-1), "told late");
  socket.dispatchEvent(new globalThis.Event("close"));
  assert.equal((await shutdown.finished).drained, true);
});

test("GracefulShutdown: WebSockets that don't close are cut; one that throws harms no other", async () => {
  const shutdown = quiet({ grace: 10 });
  const cut: string[] = [];
  const boom = new Error("boom");
  shutdown.webSocket({
    close() {
      throw boom;
    },
  }, "throws");
  shutdown.webSocket({ close() {}, terminate: () => cut.push("terminated") }, "stays");
  shutdown.request();
  const { remaining, errors } = await shutdown.finished;
  assert.deepEqual([remaining, cut], [["throws", "stays"], ["terminated"]]);
  assert.deepEqual(errors, [boom, boom]);
});

test("GracefulShutdown: a WebSocket that is added while others are told is told once, also if it throws", async () => {
  const shutdown = quiet();
  const boom = new Error("boom");
  const events: string[] = [];
  const throwing = () => {
    events.push("told");
    throw boom;
  };
  const late = { close: (code?: number) => void events.push(`late ${code}`) };
  const closes: (() => void)[] = [];
  closes.push(shutdown.webSocket({ close: () => void closes.push(shutdown.webSocket(late)) }));
  shutdown.request();
  closes.push(shutdown.webSocket({ close: throwing }));
  assert.deepEqual(events, ["late 1001", "told", "told"]); // with 1001, and then without
  for (const closed of closes) closed();
  const { drained, errors } = await shutdown.finished;
  assert.deepEqual([drained, errors], [true, [boom]]);
});

test("GracefulShutdown: the platform's own WebSocket, which knows no 1001, is closed", async () => {
  const shutdown = quiet();
  const codes: (number | undefined)[] = [];
  const socket = Object.assign(new EventTarget(), {
    close(code?: number) {
      codes.push(code);
      if (code !== undefined && code !== 1000) throw new DOMException("not that one", "InvalidAccessError");
      socket.dispatchEvent(new globalThis.Event("close"));
    },
  });
  shutdown.webSocket(socket);
  shutdown.request();
  const { drained, errors } = await shutdown.finished;
  assert.deepEqual([drained, errors, codes], [true, [], [1001, undefined]]);
});

test("GracefulShutdown: WebSockets from a listener of its signal are told once, closed ones are not waited for", async () => {
  const shutdown = quiet({ grace: Infinity });
  const events: string[] = [];
  const socket = (name: string) => ({ readyState: 1, close: (code?: number) => void events.push(`${name} ${code}`) });
  const closes: (() => void)[] = [shutdown.webSocket(socket("early"))];
  shutdown.signal.addEventListener("abort", () => closes.push(shutdown.webSocket(socket("late"))));
  shutdown.webSocket({ ...socket("closed"), readyState: 3 });
  shutdown.request();
  await Promise.resolve();
  assert.deepEqual(events, ["early 1001", "late 1001"]);
  for (const closed of closes) closed();
  assert.equal((await shutdown.finished).drained, true);
});

test("GracefulShutdown: a WebSocket that opens after the signal, and calls back in its close, can end its counting", async () => {
  const shutdown = quiet({ grace: 50 });
  shutdown.track(Promise.resolve());
  shutdown.request();
  let closed: () => void = () => assert.fail("called back before the function was returned");
  closed = shutdown.webSocket({ readyState: 1, close: () => closed() }); // Bun's, stored in its data
  assert.deepEqual((await shutdown.finished).errors, []);
});

test("GracefulShutdown: a promise whose then throws, or never calls back, is not in flight for ever", async () => {
  const shutdown = quiet({ grace: Infinity });
  const throwing = () => assert.fail("boom");
  const own = (then: unknown) => Object.assign(Promise.resolve(), { then }) as PromiseLike<void>;
  for (const odd of [{ then: throwing } as PromiseLike<void>, own(throwing), own(() => {})]) {
    assert.equal(shutdown.track(odd), odd);
  }
  shutdown.request();
  assert.equal((await shutdown.finished).drained, true);
});

test("GracefulShutdown: work that cannot be followed to its end is not in flight", async () => {
  const shutdown = quiet({ grace: Infinity });
  const error = new Error("boom");
  const get = () => {
    throw error;
  };
  await rejectsWith(shutdown.track(Object.defineProperty(Promise.resolve(), "constructor", { get })), error);
  await rejectsWith(shutdown.track(Object.defineProperty(() => {}, "name", { get })), error);
  assert.throws(() => shutdown.webSocket({ close() {}, addEventListener: get }), error);
  assert.deepEqual(shutdown.labels, []);
  shutdown.request();
  assert.equal((await shutdown.finished).drained, true);
});

test("GracefulShutdown: a server that fails as it is asked is in the report", async () => {
  const shutdown = quiet({ grace: Infinity });
  shutdown.handler(() => new Response());
  const boom = new Error("boom");
  shutdown.attach({
    stop() {},
    get pendingRequests(): number {
      throw boom;
    },
  });
  const server = { emit: () => true, close: (callback?: () => void) => callback?.(), closeAllConnections() {} };
  Object.freeze(shutdown.attach(server));
  shutdown.request();
  const { drained, errors } = await shutdown.finished;
  assert.ok(drained && errors.includes(boom) && errors.some((error) => error instanceof TypeError), String(errors));
});

test("GracefulShutdown: a server that cannot be closed by force is in the report", async () => {
  const shutdown = quiet({ grace: 10 });
  const boom = new Error("boom");
  shutdown.attach({ stop: (force) => force ? Promise.reject(boom) : new Promise(() => {}) });
  shutdown.request();
  const { drained, errors } = await shutdown.finished;
  assert.deepEqual([drained, errors], [false, [boom]]);
});

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
      for (let ms = 0; ms < 2000; ms += 100) {
        await flushMicrotasks();
        time.advance(100);
      }
      await flushMicrotasks();
      const idle = "pendingRequests" in counters && counters.pendingRequests === 0;
      assert.deepEqual(stops, idle ? [false, true] : [false], JSON.stringify(counters));
      closed();
      assert.equal((await shutdown.finished).drained, true);
    }
  }));

test("GracefulShutdown: bad arguments", async () => {
  const cases: [GracefulShutdownOptions | unknown, typeof TypeError | typeof RangeError, RegExp][] = [
    [5, TypeError, /options must be an object, got 5/],
    [null, TypeError, /options/],
    [{ grace: "1" }, TypeError, /grace must be a number, got "1"/],
    [{ grace: NaN }, RangeError, /grace must be 0 or more milliseconds, got NaN/],
    [{ grace: -1 }, RangeError, /grace .*-1/],
    [{ delay: -1 }, RangeError, /delay/],
    [{ delay: 2, grace: 1 }, RangeError, /delay must not be more than grace \(1\), got 2/],
    [{ idle: "x" }, TypeError, /idle/],
    [{ retryAfter: 0.5 }, RangeError, /retryAfter/],
    [{ debounce: -1 }, RangeError, /debounce must be 0 or more milliseconds, got -1/],
    [{ signals: "SIGTERM" }, TypeError, /signals must be an array, got "SIGTERM"/],
    [{ signals: [15] }, TypeError, /signals must hold strings, got 15/],
    [{ signals: ["TERM"] }, RangeError, /signals must hold names like "SIGTERM", got "TERM"/],
    [{ signals: ["SIGINT", "SIGTREM"] }, RangeError, /signals must hold names like "SIGTERM", got "SIGTREM"/],
    [{ signals: ["SIGTERM", "SIGKILL"] }, RangeError, /signals must hold signals that can be caught, got "SIGKILL"/],
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
  assert.throws(() => shutdown.handler(wrong("x")), /fetchHandler must be a function, got "x"/);
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
  assert.throws(() => shutdown.defer(wrong(1)), /fn must be a function, got 1/);
  assert.throws(() => shutdown.defer(() => {}, wrong(1)), /label/);
  assert.throws(() => shutdown.webSocket(wrong(1)), /socket must be a WebSocket, got 1/);
  assert.throws(() => shutdown.webSocket(wrong({})), /socket must be a WebSocket, got an object \(Object\)/);
  assert.equal(shutdown.active, 0);
});
