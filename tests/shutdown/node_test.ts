/**
 * Servers of node:http and node:https, attached, on every run-time: Express and its like run on all of them.
 */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { connect as connectTcp, type Socket } from "node:net";
import process from "node:process";
import type { GracefulShutdown } from "../../mod.ts";
import { runtime, test } from "../_test.ts";
import { nextTurn, until } from "../_tools.ts";
import { Client, deliver, finish, gate, host, listen, quiet, serving, servingSlowly, stop } from "./client.ts";

test(`attach: a request that a listener of checkContinue passes on is one request, ${runtime}`, async () => {
  const shutdown = quiet();
  const { server, connect } = await serving(shutdown, (_request, response) => response.end(`${shutdown.labels}`));
  let passOn: (() => void) | undefined;
  server.on("checkContinue", (request, response) => {
    passOn = () => {
      response.writeContinue();
      server.emit("request", request, response);
    };
  });
  const client = connect();
  client.send("/upload", "expect: 100-continue", "content-length: 4");
  while (passOn === undefined) await nextTurn();
  await stop(shutdown);
  await nextTurn();
  passOn();
  await client.gets(/100 Continue/);
  client.write("body");
  await client.gets(/200 OK[^]*GET \/upload$/);
  await client.end();
  assert.equal((await shutdown.finished).drained, true);
});

if (runtime === "node") {
  test("attach: Node's listening socket is closed right after the last look at its queue, before anything else", async () => {
    const shutdown = quiet();
    const server = createServer();
    const order: string[] = [];
    const { close } = server;
    server.close = function (callback) {
      order.push("server");
      return close.call(server, callback);
    };
    shutdown.attach(server);
    await listen(server);
    const { _handle: handle } = server as unknown as { _handle: { close(): void } };
    const closeHandle = handle.close;
    handle.close = function () {
      order.push("socket");
      closeHandle.call(handle);
    };
    await stop(shutdown);
    assert.deepEqual(order.slice(0, 2), ["socket", "server"]);
    assert.equal((await shutdown.finished).ok, true);
  });
}

test(`attach: a process with a parent returns connections for 100 ms after it has stopped listening, ${runtime}`, async () => {
  const shutdown = quiet({ idle: 0 });
  shutdown.attach(createServer());
  const before = Object.getOwnPropertyDescriptor(process, "connected");
  Object.defineProperty(process, "connected", { value: true, configurable: true });
  try {
    const { ok, elapsed } = await finish(shutdown);
    assert.ok(ok && elapsed > 90, `after ${elapsed} ms`);
  } finally {
    delete (process as { connected?: boolean }).connected;
    if (before !== undefined) Object.defineProperty(process, "connected", before);
  }
});

/** A server whose answers are given one by one, and a client that has sent these requests in one piece. */
async function pipelined(shutdown: GracefulShutdown, paths: string[]) {
  const answers = new Map<string, () => void>();
  const { connect } = await serving(shutdown, ({ url }, response) => {
    answers.set(url!, () => response.end(`done ${url};`));
  });
  const client = connect();
  client.pipeline(...paths);
  while (answers.size < paths.length) await nextTurn();
  return { answers, client };
}

test(`attach: a thread whose process.connected throws has no parent, which is no error, ${runtime}`, async () => {
  const before = Object.getOwnPropertyDescriptor(process, "connected");
  const get = () => {
    throw new TypeError("process.connected is not supported in workers"); // as in Deno's
  };
  Object.defineProperty(process, "connected", { configurable: true, get });
  try {
    const shutdown = quiet();
    await listen(shutdown.attach(createServer()));
    await stop(shutdown);
    const { drained, errors } = await shutdown.finished;
    assert.deepEqual([drained, errors], [true, []]);
  } finally {
    if (before !== undefined) Object.defineProperty(process, "connected", before);
    else delete (process as { connected?: boolean }).connected;
  }
});

test(`attach: a request behind one that was to be the last is answered as well during the delay, ${runtime}`, async () => {
  const shutdown = quiet({ grace: Infinity, delay: 60_000, signals: ["SIGTERM"], debounce: 0 });
  const { answers, client } = await pipelined(shutdown, ["/1"]);
  deliver("SIGTERM");
  client.send("/2");
  while (shutdown.active < 2) await nextTurn();
  answers.get("/1")!();
  while (answers.size < 2) await nextTurn();
  answers.get("/2")!();
  await client.end();
  assert.match(client.text, /done \/1;[^]*connection: close[^]*done \/2;/i);
  assert.equal(client.text.match(/connection: close/gi)?.length, 1);
  deliver("SIGTERM"); // ends the delay
  assert.equal((await shutdown.finished).drained, true);
});

test(`attach: a request behind two others that are not answered yet is answered as well, ${runtime}`, async () => {
  const shutdown = quiet();
  const { slow, open } = await servingSlowly(shutdown);
  await stop(shutdown);
  for (const [path, active] of [["/b", 2], ["/c", 3]] as const) {
    slow.send(path);
    while (shutdown.active < active) await nextTurn();
    for (let i = 0; i < 5; i++) await nextTurn();
  }
  open();
  await slow.end();
  assert.deepEqual(slow.text.match(/done .*?;/g), ["done /slow;", "done /b;", "done /c;"]);
  assert.deepEqual(slow.text.match(/connection: close/gi)?.length, 1);
  assert.equal((await shutdown.finished).ok, true);
});

if (runtime !== "bun") { // Bun (1.4.5) has closed the connection by then
  test(`attach: a request is answered whose client ends its side behind it, ${runtime}`, async () => {
    const shutdown = quiet({ idle: 10_000 });
    const client = (await serving(shutdown, (_, response) => response.end("done"))).connect();
    await client.ask("/", /done/);
    client.text = "";
    await stop(shutdown);
    client.socket.end("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n");
    await client.end();
    assert.match(client.text, /connection: close\r\n[^]*done/i);
    assert.equal((await shutdown.finished).ok, true);
  });
}

test(`attach: requests with an expectation of the service's own are counted, ${runtime}`, async () => {
  const shutdown = quiet({ delay: 1 });
  const { server, connect } = await serving(shutdown);
  let calls = 0;
  server.on("checkExpectation", (_request, response) => response.writeHead(200).end(`own ${++calls}`));
  const client = connect();
  await client.ask("/", /own 1/, "expect: nothing");
  shutdown.request();
  await client.ask("/", /connection: close[^]*own 2/i, "expect: nothing");
  await client.end();
  assert.equal((await shutdown.finished).ok, true);
});

test(`attach: none of several requests on a connection is in flight after it was closed, ${runtime}`, async () => {
  const shutdown = quiet();
  const { client } = await pipelined(shutdown, ["/1", "/2", "/3"]);
  assert.equal(shutdown.active, 3);
  client.destroy();
  while (shutdown.active > 0) await nextTurn();
  await stop(shutdown);
  assert.equal((await shutdown.finished).drained, true);
});

test(`attach: answers to uploads that nobody reads leave no listener, and nothing in flight, ${runtime}`, async () => {
  const shutdown = quiet();
  const sockets = new Set<Socket>();
  const { connect } = await serving(shutdown, (request, response) => {
    sockets.add(request.socket);
    response.end("done;");
  });
  const client = connect();
  const answered = () => client.text.match(/done;/g)?.length ?? 0;
  for (let i = 1; i <= 12; i++) {
    client.send("/upload", "transfer-encoding: chunked");
    while (answered() < i) await nextTurn();
    client.write("4\r\nbody\r\n0\r\n\r\n");
    while (shutdown.active > 0) await nextTurn();
  }
  assert.equal(sockets.size, 1);
  for (const socket of sockets) {
    assert.ok(socket.listenerCount("close") < 8, `${socket.listenerCount("close")} listeners`);
  }
  await stop(shutdown);
  assert.equal((await shutdown.finished).drained, true);
});

test(`attach: the rest of an upload that nobody reads is taken in behind its answer, ${runtime}`, async () => {
  const shutdown = quiet();
  let ended = false;
  const { connect } = await serving(shutdown, (request, response) => {
    request.on("end", () => ended = true);
    response.end("done;");
  });
  const client = connect();
  client.send("/upload", "content-length: 300000");
  client.write("x".repeat(100_000));
  await client.gets(/done;/);
  client.write("x".repeat(200_000));
  await until(() => ended);
  await stop(shutdown);
  assert.equal((await shutdown.finished).drained, true);
  await client.end();
});

test(`attach: a refused upgrade gets 503, and causes no error if its client resets, ${runtime}`, async () => {
  const shutdown = quiet({ late: "refuse", idle: 1000 });
  const { server, port, connect, slow, open } = await servingSlowly(shutdown);
  server.on("upgrade", () => assert.fail("refused ones are not passed on"));
  const accepted = new Map<number | undefined, Socket>();
  server.on("connection", (socket: Socket) => void accepted.set(socket.remotePort, socket));
  const sockets = Array.from({ length: 10 }, () => connectTcp({ port, host }));
  await Promise.all(sockets.map((socket) => new Promise((connected) => socket.once("connect", connected))));
  const patient = connect();
  await patient.ask("/", /done/);
  await stop(shutdown);
  const { localPort } = patient.socket;
  patient.send("/echo", "connection: upgrade", "upgrade: echo");
  patient.write("more than its head");
  await patient.end();
  await until(() => accepted.get(localPort)!.destroyed); // its end has been read
  assert.match(patient.text, /503 [^]*connection: close[^]*retry-after: 1\r\n[^]*shutting down\.\n$/i);
  for (const socket of sockets) {
    socket.on("error", () => {});
    socket.write("GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n");
    socket.resetAndDestroy?.();
  }
  for (let i = 0; i < 20; i++) await nextTurn();
  open();
  await slow.gets(/done/);
  assert.equal((await shutdown.finished).drained, true);
});

/** Switches protocols, and echoes what comes. */
function echo(_request: unknown, socket: Socket): void {
  socket.on("error", () => {});
  socket.on("data", (data) => socket.write(`echo ${data}`));
  socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n");
}

const UPGRADE = ["connection: upgrade", "upgrade: echo"];

for (const ending of ["ended by the server", "cut"]) {
  test(`attach: an upgraded connection is counted until it is ${ending}, ${runtime}`, async () => {
    const shutdown = quiet({ grace: ending === "cut" ? 1_000 : Infinity });
    const { server, connect } = await serving(shutdown);
    let peer!: Socket;
    server.on("upgrade", echo).on("upgrade", (_request, socket: Socket) => peer = socket);
    const client = connect();
    await client.ask("/echo", /101/, ...UPGRADE);
    await stop(shutdown);
    assert.deepEqual(shutdown.labels, ["GET /echo"]);
    if (ending !== "cut") {
      client.write("still there");
      await client.gets(/echo still there/);
      peer.end();
    }
    const talking = setInterval(() => client.write("still there"), 100); // a silent one would not be waited for
    const { drained, remaining } = await shutdown.finished;
    clearInterval(talking);
    assert.deepEqual([drained, remaining], ending === "cut" ? [false, ["GET /echo"]] : [true, []]);
    await client.end();
  });
}

test(`attach: a silent upgraded connection that nothing declares is ended, deaf or not, and the report is ok, ${runtime}`, async () => {
  const shutdown = quiet({ grace: 60_000 });
  const { server, port, connect } = await serving(shutdown);
  server.on("upgrade", echo);
  const tab = connect();
  const deaf = new Client(connectTcp({ port, host, allowHalfOpen: true })); // never ends its own side
  for (const client of [tab, deaf]) await client.ask("/hmr", /101/, ...UPGRADE);
  const work = gate();
  shutdown.track(work.promise);
  await stop(shutdown);
  await new Promise((resolve) => setTimeout(resolve, 1_300));
  assert.deepEqual([tab.closed, deaf.closed], [false, false]); // other work is in flight
  work.open();
  const { ok, remaining } = await shutdown.finished;
  assert.deepEqual([ok, remaining], [true, []]);
  deaf.destroy();
  await Promise.all([tab.end(), deaf.end()]);
});

if (runtime !== "bun") { // whose node:http does not show that a head has begun
  for (const first of ["a new connection", "a kept-alive connection"]) {
    test(`attach: a head in two packets on ${first} is served while other work is in flight, ${runtime}`, async () => {
      const shutdown = quiet({ grace: 60_000 });
      const client = (await serving(shutdown, (_, response) => response.end("served;"))).connect();
      if (first === "a kept-alive connection") await client.ask("/", /served;/);
      client.text = "";
      client.write("GET / HTTP/1.1\r\nho");
      await new Promise((resolve) => setTimeout(resolve, 50)); // until the server has read it
      const work = gate();
      shutdown.track(work.promise);
      await stop(shutdown);
      await new Promise((resolve) => setTimeout(resolve, 300));
      client.write("st: localhost\r\n\r\n");
      await client.gets(/connection: close[^]*served;/i);
      work.open();
      assert.equal((await shutdown.finished).ok, true);
      await client.end();
    });
  }
}
