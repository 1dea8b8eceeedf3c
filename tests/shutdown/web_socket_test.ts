/** GracefulShutdown: WebSockets are told, counted and cut. */
import assert from "node:assert/strict";
import { WebSocket, WebSocketServer } from "ws";
import { test } from "../_test.ts";
import { connect, type Socket } from "node:net";
import { Duplex } from "node:stream";
import { flushMicrotasks } from "../_tools.ts";
import { Client, finish, gate, host, quiet, serving } from "./client.ts";

/** A WebSocket that reports its end in `close`, which gets the code. */
function closing(close: (code?: number) => void) {
  const socket = Object.assign(new EventTarget(), {
    close(code?: number) {
      close(code);
      socket.dispatchEvent(new globalThis.Event("close"));
    },
  });
  return socket;
}

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
  const { remaining, errors } = await finish(shutdown);
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

test("GracefulShutdown: a WebSocket that opens while the listener is about to close is closed once it is closed", async () => {
  const shutdown = quiet();
  const events: string[] = [];
  shutdown.handler(() => new Response());
  shutdown.attach({ shutdown: () => Promise.resolve(void events.push("listener")) });
  shutdown.request();
  const sockets = ["late", "gone"].map((name) => closing(() => events.push(name)));
  for (const socket of sockets) shutdown.webSocket(socket);
  sockets[1]!.dispatchEvent(new globalThis.Event("close"));
  assert.equal((await shutdown.finished).ok, true);
  assert.deepEqual(events, ["listener", "late"]);
});

test("GracefulShutdown: the platform's own WebSocket, which knows no 1001, is closed", async () => {
  const shutdown = quiet();
  const codes: (number | undefined)[] = [];
  shutdown.webSocket(closing((code) => {
    codes.push(code);
    if (code !== undefined && code !== 1000) throw new DOMException("not that one", "InvalidAccessError");
  }));
  const { drained, errors } = await finish(shutdown);
  assert.deepEqual([drained, errors, codes], [true, [], [1001, undefined]]);
});

test("GracefulShutdown: a WebSocket that opens after the signal, and calls back in its close, can end its counting", async () => {
  const shutdown = quiet({ grace: 50 });
  shutdown.track(Promise.resolve());
  shutdown.request();
  let closed: () => void = () => assert.fail("called back before the function was returned");
  closed = shutdown.webSocket({ readyState: 1, close: () => closed() }); // Bun's, stored in its data
  assert.deepEqual((await shutdown.finished).errors, []);
});

test("GracefulShutdown: a WebSocket's own close is called once, in place of 1001, and awaited", async () => {
  const shutdown = quiet();
  const events: unknown[] = [];
  const answered = gate();
  const socket = Object.assign(new EventTarget(), { close: (code?: number) => events.push(code) });
  const close = async (given: typeof socket) => {
    events.push(given === socket);
    await answered.promise;
    socket.dispatchEvent(new globalThis.Event("close"));
    await answered.promise;
    events.push("answered");
  };
  shutdown.webSocket(socket, { label: "chat", close });
  shutdown.request();
  shutdown.request();
  await flushMicrotasks();
  assert.deepEqual([events, shutdown.labels, shutdown.active], [[true], ["chat"], 1]);
  answered.open();
  assert.equal((await shutdown.finished).ok, true);
  assert.deepEqual(events, [true, "answered"]);
});

test("GracefulShutdown: a WebSocket's own close that fails is listed, and the socket is closed", async () => {
  const boom = new Error("boom");
  for (const close of [() => Promise.reject(boom), () => assert.fail(boom)]) {
    const shutdown = quiet();
    const codes: (number | undefined)[] = [];
    shutdown.webSocket(closing((code) => codes.push(code)), { close });
    const { drained, errors } = await finish(shutdown);
    assert.deepEqual([drained, errors, codes], [true, [boom], [1001]]);
  }
});

test("GracefulShutdown: WebSockets that are closed are dropped without being told, before and during the shutdown", async () => {
  const shutdown = quiet();
  const told: string[] = [];
  const socket = (name: string) => ({ readyState: 1, close: () => void told.push(name) });
  const sockets = [1, 2, 3].map((n) => socket(`socket ${n}`));
  for (const each of sockets) shutdown.webSocket(each, { close: () => told.push("own close") });
  const ended = socket("ended by a listener of the signal");
  shutdown.webSocket(ended);
  shutdown.signal.addEventListener("abort", () => ended.readyState = 3);
  sockets[1]!.readyState = 3;
  assert.equal(shutdown.active, 3);
  sockets[0]!.readyState = 3;
  const last = socket("last");
  shutdown.webSocket(last);
  shutdown.request();
  assert.deepEqual(told, ["own close", "last"]); // of the third
  last.readyState = sockets[2]!.readyState = 3;
  assert.equal((await shutdown.finished).ok, true);
});

test("GracefulShutdown: an upgraded socket is ended, and is in flight once until it is closed; a Duplex too", async () => {
  const shutdown = quiet({ grace: 60_000 });
  const { server, port } = await serving(shutdown);
  server.on("upgrade", (_request, socket: Socket) => {
    socket.resume();
    socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n");
    shutdown.webSocket(socket, "raw");
  });
  const client = new Client(connect({ port, host, allowHalfOpen: true }));
  await client.ask("/", /101/, "connection: upgrade", "upgrade: echo");
  const duplex = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
  shutdown.webSocket(duplex, { label: "duplex", close: () => duplex.destroy() });
  assert.deepEqual(shutdown.labels, ["raw", "duplex"]);
  const ended = new Promise((resolve) => client.socket.once("end", resolve));
  shutdown.request();
  await ended;
  assert.deepEqual(shutdown.labels, ["raw"]);
  client.socket.end();
  assert.equal((await shutdown.finished).ok, true);
});

test("GracefulShutdown: a WebSocket of the package ws is in flight once", async () => {
  const shutdown = quiet();
  const { server, port } = await serving(shutdown);
  const counted = new Promise<void>((resolve) => {
    new WebSocketServer({ server }).on("connection", (socket) => {
      shutdown.webSocket(socket);
      resolve();
    });
  });
  const client = new WebSocket(`ws://${host}:${port}`);
  const closed = new Promise((resolve) => client.on("close", resolve));
  await counted;
  assert.deepEqual(shutdown.labels, ["WebSocket"]);
  shutdown.request();
  assert.equal(await closed, 1001);
  assert.equal((await shutdown.finished).ok, true);
});
