/** Callbacks, readiness, the report's `ok`, warnings, and errors that show how to mend a call. */
import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { createServer } from "node:http";
import { createServer as createTcpServer } from "node:net";
import process from "node:process";
import { inspect } from "node:util";
import type { GracefulShutdown } from "../../mod.ts";
import { runtime, test } from "../_test.ts";
import { nextTurn, until } from "../_tools.ts";
import { shutdownWarnings } from "../_warnings.ts";
import { connected, deliver, finish, gate, listen, quiet, serving, servingSlowly } from "./client.ts";

test("onShutdown: callbacks run side by side once the listeners are closed, and are in flight until they end", async () => {
  const shutdown = quiet();
  const events: string[] = [];
  const [one, two] = [gate(), gate()];
  shutdown.attach({ shutdown: () => Promise.resolve(void events.push("listener closed")) });
  shutdown.signal.addEventListener("abort", () => events.push("signal"));
  shutdown.onShutdown(async function closeApp(signal) {
    assert.equal(signal, shutdown.forced);
    events.push("one");
    await one.promise;
  });
  shutdown.onShutdown(() => {
    events.push("two");
    return two.promise;
  }, "sockets");
  assert.deepEqual([events, shutdown.labels], [[], []]);
  shutdown.request();
  assert.deepEqual(events, ["signal"]);
  await until(() => shutdown.labels.length === 2);
  assert.deepEqual(events, ["signal", "listener closed", "one", "two"]);
  assert.deepEqual(shutdown.labels, ["closeApp", "sockets"]);
  one.open();
  await until(() => shutdown.labels.length < 2); // the first warning loads stderr, in which timers run before promises
  assert.deepEqual(shutdown.labels, ["sockets"]);
  two.open();
  const { ok, drained, errors } = await shutdown.finished;
  assert.deepEqual([ok, drained, errors], [true, true, []]);
});

test("onShutdown: the delay comes first; a callback that is registered later is called immediately", async () => {
  const shutdown = quiet({ delay: 20 });
  const events: string[] = [];
  shutdown.onShutdown(() => {
    events.push("early");
    shutdown.onShutdown(() => void events.push("late"));
    events.push("early ends");
  });
  shutdown.request();
  assert.deepEqual(events, []);
  assert.equal((await shutdown.finished).ok, true);
  assert.deepEqual(events, ["early", "late", "early ends"]);
  assert.throws(() => shutdown.onShutdown(1 as never), /fn must be a function, .*, got 1/);
});

test("onShutdown: a callback that fails is in the report, one that does not end is cut", async () => {
  const shutdown = quiet({ grace: 20 });
  const boom = new Error("boom");
  shutdown.onShutdown(() => assert.fail(boom));
  shutdown.onShutdown(() => Promise.reject(boom));
  shutdown.onShutdown(() => new Promise(() => {}), "endless");
  const { ok, drained, remaining, errors } = await finish(shutdown);
  assert.deepEqual([ok, drained, remaining, errors], [false, false, ["endless"], [boom, boom]]);
});

test("ready: false until the service has started, and from the signal on", async () => {
  const shutdown = quiet({ ready: false });
  assert.equal(shutdown.ready, false);
  shutdown.ready = true;
  assert.equal(shutdown.ready, true);
  assert.throws(() => shutdown.ready = 1 as never, /ready must be a boolean, got 1/);
  shutdown.request();
  shutdown.ready = true;
  assert.equal(shutdown.ready, false);
  await shutdown.finished;
});

async function shutDown(use: (shutdown: GracefulShutdown) => unknown): Promise<void> {
  const shutdown = quiet();
  await use(shutdown);
  await finish(shutdown);
}

test("warning: a shutdown that nothing was tied to", async () => {
  const [warning, ...others] = await shutdownWarnings(() => shutDown(() => {}));
  assert.equal(warning?.code, "INTERLOCK_NOT_ATTACHED");
  assert.match(warning.message, /nothing was attached.*shutdown\.attach\(server\)/);
  assert.deepEqual(others, []);
  const uses: ((shutdown: GracefulShutdown) => unknown)[] = [
    (shutdown) => shutdown.track(Promise.resolve()),
    (shutdown) => shutdown.defer(() => {}),
    (shutdown) => shutdown.onShutdown(() => {}),
    (shutdown) => shutdown.handler(() => new Response()),
    (shutdown) => shutdown.attach(createServer()),
  ];
  for (const use of uses) assert.deepEqual(await shutdownWarnings(() => shutDown(use)), [], String(use));
});

test("warning: on Node, a handler that answered requests without an attached server", async () => {
  const answer = (shutdown: GracefulShutdown) => shutdown.handler(() => new Response("x"))(new Request("http://a/"));
  const seen = await shutdownWarnings(() => shutDown(answer));
  assert.deepEqual(seen.map(({ code }) => code), runtime === "node" ? ["INTERLOCK_NOT_ATTACHED"] : []);
  const attached = (shutdown: GracefulShutdown) => {
    shutdown.attach(createServer());
    return answer(shutdown);
  };
  assert.deepEqual(await shutdownWarnings(() => shutDown(attached)), []);
});

test("warning: a server of Deno.serve or Bun.serve whose requests go past handler", async () => {
  const code = async (use: (shutdown: GracefulShutdown) => unknown) =>
    (await shutdownWarnings(() => shutDown(use))).map(({ code }) => code).join();
  const deno = () => ({ shutdown: () => Promise.resolve() });
  const bun = (pendingRequests: number) => ({ stop() {}, pendingRequests, pendingWebSockets: 0 });
  const wrap = (shutdown: GracefulShutdown) => shutdown.handler(() => new Response("x"));
  assert.equal(await code((shutdown) => shutdown.attach(deno())), "INTERLOCK_NOT_COUNTED");
  assert.equal(await code((shutdown) => shutdown.attach(bun(0))), "INTERLOCK_NOT_COUNTED");
  assert.equal(await code((shutdown) => (wrap(shutdown), shutdown.attach(deno()))), "");
  assert.equal(await code((shutdown) => (wrap(shutdown), shutdown.attach(bun(0)))), "");
  assert.equal(await code((shutdown) => (wrap(shutdown), shutdown.attach(bun(2)))), "INTERLOCK_NOT_COUNTED");
  const served = async (shutdown: GracefulShutdown) => {
    await wrap(shutdown)(new Request("http://a/"));
    shutdown.attach(bun(2));
  };
  assert.equal(await code(served), "");
});

test("warning: a second signal that forces says which, how long after the first, and what was cut", async () => {
  const [warning, ...others] = await shutdownWarnings(async () => {
    const shutdown = quiet({ signals: ["SIGTERM", "SIGINT"], debounce: 0 });
    for (let i = 0; i < 12; i++) shutdown.track(new Promise(() => {}), `job ${i}`);
    deliver("SIGTERM");
    deliver("SIGINT");
    await shutdown.finished;
  });
  assert.equal(warning?.code, "INTERLOCK_FORCED");
  assert.match(warning.message, /forced by SIGINT, \d+ ms after SIGTERM; cut: job 0, .*job 9, and 2 more$/);
  assert.deepEqual(others, []);
});

test("warning: the end of grace forces, and what was cut is named", async () => {
  const [warning, ...others] = await shutdownWarnings(async () => {
    const shutdown = quiet({ grace: 20 });
    shutdown.track(new Promise(() => {}), "endless");
    await finish(shutdown);
  });
  assert.equal(warning?.code, "INTERLOCK_FORCED");
  assert.match(warning.message, /forced by the end of grace, 20 ms after the signal; cut: endless$/);
  assert.deepEqual(others, []);
});

test("delay: a function is awaited before the listeners are closed, while answers send clients away", async () => {
  const { promise, open } = gate();
  const own = quiet({ delay: (forced) => forced === own.forced ? promise : Promise.reject(new Error("not forced")) });
  const { server, connect } = await serving(own, (_, response) => response.end("done"));
  own.request();
  await nextTurn();
  await connect().ask("/", /connection: close[^]*done/i);
  assert.deepEqual([own.ready, server.listening], [false, true]);
  open();
  const { ok, errors } = await own.finished;
  assert.deepEqual([ok, errors, server.listening], [true, [], false]);
});

test("delay: a function that fails is in the report, and the shutdown goes on; grace bounds one that never ends", async () => {
  const boom = new Error("boom");
  for (const fail of [() => Promise.reject(boom), () => assert.fail(boom)]) {
    const shutdown = quiet({ delay: fail });
    let cleaned = false;
    shutdown.defer(() => void (cleaned = true));
    const { ok, errors } = await finish(shutdown);
    assert.deepEqual([ok, errors, cleaned], [false, [boom], true]);
  }
  const shutdown = quiet({ grace: 20, delay: () => new Promise(() => {}) });
  const { server } = await serving(shutdown);
  const { ok, errors } = await finish(shutdown);
  assert.deepEqual([ok, server.listening], [false, false]);
  assert.deepEqual(errors.map(String), ["TimeoutError: Cannot finish delay: the grace time is over"]);
  assert.throws(() => quiet({ delay: "x" as never }), TypeError);
});

test("delay: a function that forced cancels is among what remains", async () => {
  const leave = (forced: AbortSignal) =>
    new Promise((_, reject) => forced.addEventListener("abort", () => reject(forced.reason)));
  for (const [delay, label] of [[leave, "leave"], [(forced: AbortSignal) => leave(forced), "delay"]] as const) {
    const shutdown = quiet({ grace: 20, delay });
    const { ok, drained, remaining, errors } = await finish(shutdown);
    assert.deepEqual([ok, drained, remaining, errors], [false, false, [label], []]);
  }
});

test("warning: a second signal during the clean-up names the step that it cuts", async () => {
  const [warning] = await shutdownWarnings(async () => {
    const shutdown = quiet({ signals: ["SIGTERM"], debounce: 0 });
    shutdown.defer(() => {}, "close cache");
    shutdown.defer(() => (deliver("SIGTERM"), new Promise(() => {})), "close database");
    deliver("SIGTERM");
    await shutdown.finished;
  });
  assert.equal(warning?.code, "INTERLOCK_FORCED");
  assert.match(warning.message, /; cut: close database$/);
});

test("warning: it is printed when the shutdown is finished, as the process may exit then", async () => {
  await nextTurn(); // those of earlier tests may still be on their way
  const warning = new Promise<{ code?: string }>((emitted) => process.once("warning", emitted));
  const first = await Promise.race([finish(quiet()), warning]);
  assert.equal("code" in first && first.code, "INTERLOCK_NOT_ATTACHED");
});

test("report: console.log shows it on at most ten lines, whatever happened", async () => {
  const shutdown = quiet({ grace: 10 });
  for (let i = 0; i < 200; i++) shutdown.track(new Promise(() => {}), `GET /a/path/that/is/quite/long/${i}`);
  for (let i = 0; i < 50; i++) shutdown.defer(() => Promise.reject(new Error(`line\nof ${i}`)));
  shutdown.request(new Error("reason"));
  const report = await shutdown.finished;
  const shown = inspect(report);
  assert.ok(shown.split("\n").length <= 10, shown);
  for (const text of ["ok: false", "Error: reason", "and 197 more", "and 47 more"]) {
    assert.ok(shown.includes(text), shown);
  }
  assert.deepEqual(Object.keys(report).sort(), ["drained", "elapsed", "errors", "ok", "reason", "remaining"]);
});

for (const when of ["when the listener is closed", "after finished"]) {
  test(`attach: a server.close(callback) ${when} calls back without an error`, async () => {
    const shutdown = quiet();
    const { server } = await serving(shutdown);
    const closed = () => new Promise<unknown>((resolve) => server.close(resolve));
    let error: unknown = "none";
    if (when === "after finished") shutdown.defer(() => {});
    else shutdown.onShutdown(async () => error = await closed());
    assert.equal((await finish(shutdown)).ok, true);
    if (when === "after finished") error = await closed();
    assert.equal(error, undefined);
    // A server that listens again is closed again.
    await listen(server);
    await until(() => !server.listening);
    assert.equal(await closed() ?? undefined, undefined);
    assert.equal(server.listening, false);
  });
}

test(`attach: a server that was closed before the signal does not hold the shutdown up, ${runtime}`, async () => {
  const shutdown = quiet();
  const { server, slow, open } = await servingSlowly(shutdown);
  server.close();
  shutdown.request();
  open();
  await slow.gets(/done/);
  const { ok } = await shutdown.finished;
  assert.deepEqual([ok, shutdown.forced.aborted, server.listenerCount("close")], [true, false, 0]);
});

test("webSocket: warns about an object that never notifies of its end", async () => {
  const add = (socket: object) => () => shutDown((shutdown) => shutdown.webSocket(socket as never)());
  const silent = Object.assign(new EventEmitter(), { close() {}, disconnect() {} });
  const [warning] = await shutdownWarnings(add(silent));
  assert.equal(warning?.code, "INTERLOCK_WEB_SOCKET");
  assert.match(warning.message, /onShutdown\(\(\) => io\.close\(\)\)/);
  const loud = Object.assign(new EventTarget(), { close() {} });
  const ofBun = { readyState: 1, close() {} };
  for (const socket of [loud, ofBun]) assert.deepEqual(await shutdownWarnings(add(socket)), []);
});

test("attach: errors show how to mend the call", () => {
  const shutdown = quiet();
  const emitter = (members: object) => Object.assign(new EventEmitter(), members);
  const wrong: [unknown, RegExp][] = [
    [Object.assign(() => {}, { listen() {}, emit() {}, close() {} }), /pass the server that app\.listen returns/],
    [emitter({ listen() {}, callback() {} }), /pass the server that app\.listen returns/],
    [{ listen() {}, close() {}, server: createServer() }, /pass its property server/],
    [{ stop() {}, start() {}, listener: createServer() }, /pass its property listener/],
    [emitter({ close() {}, httpServer: createServer() }), /pass its property httpServer/],
    [emitter({ close() {}, handleUpgrade() {} }), /pass the server of node:http that it runs on/],
    [{ fetch() {}, request() {} }, /wrap its fetch by handler\(\)/],
    [createTcpServer(), /node:net or node:tls by track\(\)/],
    [Promise.resolve(createServer()), /await the promise, and pass the server/],
    [{ listen() {}, inject() {}, addHook() {}, then() {}, server: {} }, /pass its property server/],
    [{ fetch() {}, handle() {}, onStop() {}, listen() {}, stop() {}, server: null }, /wrap its fetch by handler\(\)/],
    [{ fetch() {}, request() {}, basePath() {} }, /wrap its fetch by handler\(\)/],
    [{ serve() {}, fetch() {}, close() {}, options: {}, node: {} }, /handler\(\), and pass its property node\.server/],
    [{ fetch() {}, handler() {}, config: {} }, /wrap its fetch by handler\(\)/],
    [{ handler() {}, use() {}, options: {} }, /pass the server of createServer/],
    [{ bindAsync() {}, tryShutdown() {}, start() {} }, /onShutdown.*tryShutdown/],
    [{ getHttpServer() {}, close() {} }, /pass app\.getHttpServer\(\).*defer\(\(\) => app\.close\(\)\)/],
    [{ executeOperation() {}, stop() {} }, /pass the server of node:http.*defer/],
    [{ inject() {}, route() {}, stop() {}, listener: {} }, /pass its property listener.*defer/],
    [{}, /must be a server of node:http, node:http2, Deno\.serve or Bun\.serve, or a Pool/],
    [undefined, /server must be a server of/],
  ];
  for (const [value, message] of wrong) {
    assert.throws(() => shutdown.attach(value as never), { name: "TypeError", message }, String(message));
  }
});

test("attach: a server belongs to one shutdown, and is free when that is over", async () => {
  const [first, second] = [quiet(), quiet()];
  const server = createServer((_, response) => response.end("done"));
  assert.equal(first.attach(server), server);
  assert.equal(first.attach(server), server);
  assert.throws(() => second.attach(server), { name: "TypeError", message: /belong to one GracefulShutdown only/ });
  assert.equal((await finish(first)).ok, true);
  second.attach(server);
  const frozen = Object.freeze(createServer());
  for (let i = 0; i < 2; i++) assert.throws(() => second.attach(frozen), TypeError);
  await connected(await listen(server)).ask("/", /200 OK[^]*done/);
  assert.equal(server.listening, true);
  assert.equal((await finish(second)).ok, true);
  assert.equal(server.listening, false);
});
