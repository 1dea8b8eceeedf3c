/** Servers of node:http(s) as their clients see them: the listener is closed first, each connection gets one last answer. */
import assert from "node:assert/strict";
import { nodeListener } from "../../examples/graceful/node_adapter.ts";
import { runtime, test } from "../_test.ts";
import { nextTurn } from "../_tools.ts";
import { gate, isFree, quiet, schemes, serving, servingSlowly, stop } from "./client.ts";

for (const [name, scheme] of Object.entries(schemes)) {
  test(`shutdown: node:${name} closes its listener first, ${runtime}`, async () => {
    const shutdown = quiet();
    const { server, port, slow, open } = await servingSlowly(shutdown, scheme);
    await stop(shutdown);
    assert.equal(server.listening, false);
    assert.ok(await isFree(port), "another server can bind the port while a request is in flight");
    assert.deepEqual(shutdown.labels, ["GET /slow"]);
    open();
    await slow.gets(/connection: close[^]*done \/slow;$/i);
    await slow.end();
    assert.equal((await shutdown.finished).drained, true);
  });

  test(`shutdown: node:${name} serves the last request of a connection, ${runtime}`, async () => {
    const shutdown = quiet({ idle: 10_000 });
    const { connect, slow, open } = await servingSlowly(shutdown, scheme);
    const idle = connect();
    await idle.ask("/first", /done \/first/);
    await stop(shutdown);
    await nextTurn();
    await idle.ask("/last", /200 OK[^]*200 OK[^]*connection: close[^]*done \/last;$/i);
    await idle.end();
    assert.doesNotMatch(idle.text, /503/);
    open();
    await slow.gets(/done \/slow;$/);
    assert.equal((await shutdown.finished).drained, true);
    assert.deepEqual(idle.errors, []);
  });

  test(`shutdown: node:${name} sends all of a large answer to a slow reader, ${runtime}`, async () => {
    const shutdown = quiet();
    const size = 24_000_000; // more than fits into buffers before the reader pauses
    const { connect } = await serving(shutdown, (_, response) => void response.end("x".repeat(size)), scheme);
    const slow = connect();
    await slow.ask("/large", /xxx/);
    slow.socket.pause();
    assert.deepEqual(shutdown.labels, ["GET /large"]);
    await stop(shutdown);
    for (let i = 0; i < 20; i++) await nextTurn();
    slow.socket.resume();
    while (slow.bytes < size) {
      assert.ok(!slow.closed, `closed after ${slow.bytes} bytes`);
      await nextTurn();
    }
    slow.destroy(); // Deno's client over TLS does not notice the end after a pause
    assert.equal((await shutdown.finished).drained, true);
  });

  test(`shutdown: node:${name} closes idle and silent connections after the idle time, ${runtime}`, async () => {
    const shutdown = quiet({ idle: 50 });
    const { connect, slow, open } = await servingSlowly(shutdown, scheme);
    const [idle, silent] = [connect(), connect()];
    await idle.ask("/", /done/);
    await stop(shutdown);
    // Bun forgets silent connections without closing them.
    await (runtime === "bun" ? idle.end() : Promise.all([idle.end(), silent.end()]));
    silent.destroy();
    assert.deepEqual(shutdown.labels, ["GET /slow"]);
    open();
    await slow.gets(/done/);
    assert.equal((await shutdown.finished).drained, true);
  });

  test(`shutdown: node:${name} refuses each of several late requests, also behind one in flight, ${runtime}`, async () => {
    const shutdown = quiet({ idle: 10_000, late: "refuse", retryAfter: 2_500 });
    const { server, connect, slow, open } = await servingSlowly(shutdown, scheme);
    const late = connect();
    await late.ask("/", /done/);
    await stop(shutdown);
    server.on("request", () => assert.fail("refused ones are not passed on"));
    for (const client of [slow, late]) client.pipeline("/", "/", "/");
    await late.end();
    while (shutdown.active < 4) await nextTurn();
    open();
    await slow.end();
    for (const { text } of [slow, late]) {
      assert.deepEqual(text.match(/(?<=HTTP\/1.1 )\d+/g), ["200", "503", "503", "503"]);
      assert.equal(text.match(/connection: close/gi)?.length, 1);
      assert.match(text, /503[^]*retry-after: 3[^]*shutting down\.\n/i);
    }
    assert.equal((await shutdown.finished).drained, true);
  });
}

test(`shutdown: a late answer may take its time, though nothing was in flight before, ${runtime}`, async () => {
  const shutdown = quiet({ idle: 1_000 });
  const { connect } = await serving(shutdown, (request, response) => {
    // Longer than a half-closed connection is waited for.
    setTimeout(() => response.end(`done ${request.url};`), request.url === "/late" ? 2_300 : 0);
  });
  const [client, silent] = [connect(), connect()];
  for (const each of [client, silent]) each.send("/first");
  for (const each of [client, silent]) await each.gets(/done \/first;/);
  while (shutdown.active > 0) await nextTurn();
  await stop(shutdown);
  await nextTurn();
  await client.ask("/late", /connection: close[^]*done \/late;/i);
  silent.destroy();
  await client.end();
  const { ok, elapsed } = await shutdown.finished;
  assert.ok(ok && elapsed >= 2_300, `ended after ${elapsed} ms`);
});

test(`shutdown: no handler waits for a client that goes away behind its late request, ${runtime}`, async () => {
  const shutdown = quiet({ idle: 10_000 });
  const { connect } = await serving(shutdown, (request, response) => {
    if (request.url === "/first") return void response.end("done;");
    void shutdown.track(new Promise((closed) => response.on("close", closed)), "until closed");
  });
  const clients = Array.from({ length: 10 }, connect);
  for (const client of clients) client.send("/first");
  for (const client of clients) await client.gets(/done;/);
  while (shutdown.active > 0) await nextTurn();
  await stop(shutdown);
  for (const client of clients) client.send("/late");
  await nextTurn();
  for (const client of clients) client.socket.resetAndDestroy();
  assert.equal((await shutdown.finished).ok, true);
});

test(`shutdown: what a listener throws at a late request is an uncaught exception, as before, ${runtime}`, async () => {
  const shutdown = quiet({ idle: 10_000 });
  const { connect } = await serving(shutdown, (request, response) => {
    if (request.url === "/late") throw new Error("of the listener");
    response.end("done;");
  });
  const client = connect();
  await client.ask("/", /done;/);
  while (shutdown.active > 0) await nextTurn();
  await stop(shutdown);
  const { queueMicrotask } = globalThis;
  const uncaught: (() => void)[] = [];
  globalThis.queueMicrotask = (fn) => void uncaught.push(fn);
  try {
    client.send("/late");
    while (uncaught.length === 0) await nextTurn();
  } finally {
    globalThis.queueMicrotask = queueMicrotask;
  }
  assert.throws(uncaught[0]!, /of the listener/);
  client.destroy();
  assert.equal((await shutdown.finished).ok, true);
});

test(`shutdown: with handler and attach, requests are counted once and all answered, ${runtime}`, async () => {
  const shutdown = quiet();
  const { promise, open } = gate();
  const handler = shutdown.handler(async ({ url }: Request) => {
    const { pathname } = new URL(url);
    if (pathname === "/slow") await promise;
    return new Response(`done ${pathname};`);
  }, { label: ({ url }) => `handler ${new URL(url).pathname}` });
  const client = (await serving(shutdown, nodeListener(handler))).connect();
  client.pipeline("/slow", "/2", "/3");
  while (shutdown.active < 3) await nextTurn();
  assert.deepEqual(shutdown.labels, ["handler /slow", "handler /2", "handler /3"]);
  await stop(shutdown);
  open();
  await client.end();
  assert.deepEqual(client.text.match(/done .*?;/g), ["done /slow;", "done /2;", "done /3;"]);
  assert.equal((await shutdown.finished).ok, true);
});

for (const late of ["serve", "refuse"] as const) {
  test(`shutdown: "Expect: 100-continue" on an existing connection, late: ${late}, ${runtime}`, async () => {
    const shutdown = quiet({ idle: 10_000, late });
    const { connect } = await serving(shutdown, async (request, response) => {
      let length = 0;
      for await (const piece of request) length += piece.length;
      response.end(`got ${length};`);
    });
    const client = connect();
    await client.ask("/", /got 0;/);
    client.text = "";
    await stop(shutdown);
    client.write("POST / HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-length: 4\r\n\r\n");
    if (late === "serve") {
      await client.gets(/100 Continue/);
      client.write("body");
      await client.gets(/200 OK[^]*got 4;/);
    } else {
      await client.gets(/503[^]*shutting down\.\n/);
      client.write("body");
    }
    await client.end();
    assert.equal((await shutdown.finished).ok, true);
  });
}

test(`shutdown: a server that the service itself closes at the signal serves late requests, too, ${runtime}`, async () => {
  const shutdown = quiet({ delay: 20, idle: 10_000 });
  const { server, connect } = await serving(shutdown, ({ url }, response) => void response.end(`done ${url};`));
  shutdown.signal.addEventListener("abort", () => void server.close());
  const client = connect();
  await client.ask("/first", /done \/first;/);
  await stop(shutdown);
  await nextTurn();
  await client.ask("/last", /done \/last;/);
  await client.end();
  assert.equal((await shutdown.finished).drained, true);
});

if (runtime === "deno" || runtime === "node") {
  test(`shutdown: late: "refuse" does not count before the listener is closed, ${runtime}`, async () => {
    const shutdown = quiet({ late: "refuse" });
    const { server, connect } = await serving(shutdown, (_, response) => response.end("done"));
    const before = Array.from({ length: 10 }, connect);
    for (const each of before) each.send("/");
    for (const each of before) await each.gets(/done/);
    shutdown.request(); // connections may be waiting to be accepted
    const open = server.listening;
    const fresh = Array.from({ length: 10 }, connect);
    for (const each of fresh) each.send("/");
    for (const each of fresh) await each.end();
    assert.equal(open, true);
    for (const { text, errors } of fresh) assert.ok(/200 OK/.test(text) || errors.length > 0, text);
    for (const each of before) each.destroy();
    await shutdown.finished;
  });
}

test(`shutdown: a refused upload that never ends counts for a second, ${runtime}`, async () => {
  const shutdown = quiet({ late: "refuse", idle: 1_000, grace: 20_000 });
  const client = (await serving(shutdown, (_, response) => response.end("done"))).connect();
  await client.ask("/", /done/);
  await stop(shutdown);
  client.write("POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\nx");
  await client.gets(/503/);
  assert.equal((await shutdown.finished).drained, true);
  client.destroy();
});
