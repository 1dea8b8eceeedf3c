/** Shutdowns of test suites and of those who embed a server: shared listeners, and everything taken back. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import process from "node:process";
import { ClosedError, GracefulShutdown } from "../../mod.ts";
import { runtime, test } from "../_test.ts";
import { flushMicrotasks, nextTurn, states, watch } from "../_tools.ts";
import { leakWarnings } from "../_warnings.ts";
import { connected, deliver, gate, listen, quiet } from "./client.ts";

const EVENTS = ["SIGINT", "SIGTERM", "exit"];
/** Node 20 has one of its own while it loads a file, in which the first test begins. */
const isOfNode = ({ name }: { readonly name: string }) => name === "handleProcessExit";
const listeners = () =>
  EVENTS.map((event) => process.listeners(event as "SIGINT").filter((one) => !isOfNode(one)).length);

test("embedding: after the debounce time, nothing remains of shutdowns that are over", async () => {
  const before = listeners();
  for (const debounce of [0, 20]) {
    const shutdown = new GracefulShutdown({ signals: ["SIGTERM"], debounce });
    shutdown.track(Promise.resolve());
    deliver("SIGTERM");
    await shutdown.finished;
    const from = performance.now();
    while (debounce > 0 && listeners()[2] !== before[2] && performance.now() - from < 2000) await nextTurn();
    assert.deepEqual(listeners(), before, `debounce ${debounce}`);
  }
});

test("embedding: all shutdowns share one listener of each signal, and begin in the order in which they were made", async () => {
  const warnings = await leakWarnings(async () => {
    const before = listeners();
    const began: number[] = [];
    const work = gate();
    const all = Array.from({ length: 30 }, (_, i) => {
      const shutdown = new GracefulShutdown({ signals: i % 2 === 0 ? ["SIGTERM", "SIGINT"] : ["SIGINT", "SIGTERM"] });
      shutdown.signal.addEventListener("abort", () => began.push(i));
      shutdown.track(work.promise);
      return shutdown;
    });
    assert.deepEqual(listeners(), [before[0]! + 1, before[1]! + 1, before[2]]);
    deliver("SIGTERM");
    assert.deepEqual(began, all.map((_, i) => i));
    assert.ok(listeners()[2]! <= before[2]! + 1);
    work.open();
    await Promise.all(all.map(({ finished }) => finished));
    assert.deepEqual(listeners().slice(0, 2), before.slice(0, 2));
  });
  assert.deepEqual(warnings, []);
});

test("embedding: a shutdown that another one's listener disposes of does not begin", async () => {
  const [first, second, third] = [1, 2, 3].map(() => new GracefulShutdown({ signals: ["SIGTERM"] }));
  for (const shutdown of [first!, third!]) shutdown.track(Promise.resolve());
  first!.signal.addEventListener("abort", () => second![Symbol.dispose]());
  deliver("SIGTERM");
  assert.deepEqual([first, second, third].map((each) => each!.signal.aborted), [true, false, true]);
  await Promise.all([first!.finished, third!.finished]);
});

test("embedding: a shutdown hears signals after a test suite has removed all listeners", async () => {
  const others = process.listeners("SIGHUP");
  const options = { signals: ["SIGHUP"] };
  using _removed = new GracefulShutdown(options);
  process.removeAllListeners("SIGHUP");
  const shutdown = new GracefulShutdown(options);
  shutdown.track(Promise.resolve());
  deliver("SIGHUP");
  assert.equal((await shutdown.finished).ok, true);
  for (const other of others) process.on("SIGHUP", other);
});

test(`embedding: disposal takes back what was installed, and ends nothing, ${runtime}`, async () => {
  const before = listeners();
  const server = createServer((_, response) => response.end("served;"));
  const { emit, close } = server;
  const shutdown = new GracefulShutdown();
  const wrapped = shutdown.handler(() => new Response("answered"));
  const port = await listen(shutdown.attach(server));
  const never = () => assert.fail("registered before the disposal");
  shutdown.defer(never);
  shutdown.onShutdown(never);
  const finished = watch(shutdown.finished);
  shutdown[Symbol.dispose]();
  shutdown[Symbol.dispose](); // twice is once
  assert.deepEqual([listeners(), server.emit === emit, server.close === close], [before, true, true]);
  shutdown.request();
  await shutdown[Symbol.asyncDispose]();
  assert.equal(await states([finished]), "pending");
  assert.deepEqual([shutdown.signal.aborted, shutdown.forced.aborted], [false, false]);
  assert.equal(await (await wrapped(new Request("http://localhost/"))).text(), "answered");
  const client = connected(port);
  await client.ask("/", /served;/);
  assert.doesNotMatch(client.text, /connection: close/i);
  using successor = quiet();
  assert.equal(successor.attach(server), server);
  client.destroy();
  await new Promise((closed) => server.close(closed));
});

test("embedding: later registrations are refused, bad arguments first", async () => {
  const shutdown = quiet();
  shutdown[Symbol.dispose]();
  const server = createServer();
  const refused: [call: () => unknown, message: string][] = [
    [() => shutdown.attach(server), "Cannot attach: shutdown was disposed of"],
    [() => shutdown.handler(() => new Response()), "Cannot wrap handler: shutdown was disposed of"],
    [() => shutdown.defer(() => {}), "Cannot register clean-up step: shutdown was disposed of"],
    [() => shutdown.onShutdown(() => {}), "Cannot register shutdown callback: shutdown was disposed of"],
    [() => shutdown.webSocket({ close() {} }), "Cannot count WebSocket: shutdown was disposed of"],
  ];
  for (const [call, message] of refused) assert.throws(call, { name: ClosedError.name, message });
  const message = "Cannot track: shutdown was disposed of";
  await assert.rejects(shutdown.track(Promise.resolve()), { name: "ClosedError", message });
  assert.throws(() => shutdown.defer(undefined as never), TypeError);
  assert.throws(() => shutdown.attach({} as never), TypeError);
});

test("embedding: once a shutdown has begun, its disposal does nothing", async () => {
  const shutdown = quiet();
  const steps: string[] = [];
  shutdown.defer(() => steps.push("closed"));
  shutdown.request();
  shutdown[Symbol.dispose]();
  await flushMicrotasks();
  assert.equal((await shutdown.finished).ok, true);
  shutdown[Symbol.dispose]();
  assert.deepEqual(steps, ["closed"]);
  await assert.doesNotReject(shutdown.defer(() => {})!);
});
