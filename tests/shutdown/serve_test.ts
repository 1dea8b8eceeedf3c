/**
 * Real servers, attached: Deno.serve and Bun.serve with a counting handler, and node:http on Node.
 */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { nodeListener } from "../../examples/graceful/node_adapter.ts";
import type { GracefulShutdown, WebSocketLike } from "../../mod.ts";
import { runtime, test } from "../_test.ts";
import { deferred, nextTurn, until } from "../_tools.ts";
import { connected, finish, gate, isFree, listen, quiet, stop, writtenBody } from "./client.ts";
import { Bun, Deno, serveFetch } from "./platform.ts";

/** The adapter on Node knows no lengths. */
const LENGTH = runtime === "node" ? /transfer-encoding: chunked\r\n/i : /content-length: 5\r\n/i;

/** Starts the run-time's own server and returns its port. */
async function serve(shutdown: GracefulShutdown, handler: (request: Request) => Promise<Response>): Promise<number> {
  if (runtime !== "node") {
    return serveFetch(shutdown, handler, { signal: shutdown.forced, onError: failed, error: failed });
  }
  return await listen(shutdown.attach(createServer(nodeListener((request) => handler(request).catch(failed)))));
}

function failed(): Response {
  return new Response("failed", { status: 500 });
}

test(`serve: a short answer keeps its length, also for HEAD, and as the last one, ${runtime}`, async () => {
  const shutdown = quiet();
  const last = deferred<Response>();
  const port = await serve(
    shutdown,
    async ({ url }) => url.endsWith("/last") ? await last.promise : new Response("hello"),
  );
  const wire = connected(port, "/");
  await wire.gets(/hello(\r\n0\r\n\r\n)?$/);
  assert.match(wire.text, LENGTH);
  wire.text = "";
  await wire.ask("HEAD /", /^HTTP\/1.1 200 [^]*\r\n\r\n$/);
  await until(() => shutdown.active === 0);
  wire.text = "";
  wire.send("/last");
  await until(() => shutdown.active === 1);
  shutdown.request();
  last.resolve(new Response("hello"));
  assert.equal((await shutdown.finished).drained, true);
  await wire.end();
  assert.match(wire.text, /hello(\r\n0\r\n\r\n)?$/);
  assert.match(wire.text, LENGTH);
  // In the turn of the signal node:http announces no close yet; tests/shutdown/last_answers_test.ts has its last answers.
  if (runtime !== "node") assert.match(wire.text, /connection: close\r\n/i);
});

test(`serve: a stream is in flight until its end, and the listener is closed meanwhile, ${runtime}`, async () => {
  const shutdown = quiet();
  const { body, send, out } = writtenBody();
  const port = await serve(shutdown, () => Promise.resolve(new Response(body)));
  const wire = connected(port, "/stream");
  send("one");
  await wire.gets(/one/);
  await stop(shutdown);
  assert.ok(await isFree(port));
  assert.deepEqual(shutdown.labels, ["GET /stream"]);
  send("two");
  out.close();
  await wire.gets(/two\r\n0\r\n\r\n$/);
  assert.equal((await shutdown.finished).drained, true);
  await wire.destroy();
});

test(`serve: a request that is on its way at the signal is answered, ${runtime}`, async () => {
  const shutdown = quiet({ idle: 100 });
  const wire = connected(await serve(shutdown, () => Promise.resolve(new Response("done"))), "/first");
  await wire.gets(/done(\r\n0\r\n\r\n)?$/); // chunked on Node
  wire.send("/second");
  shutdown.request();
  await wire.end();
  assert.match(wire.text, /done[^]*200 OK[^]*done/);
  assert.equal((await shutdown.finished).drained, true);
});

test(`serve: a client that goes away is not waited for, ${runtime}`, async () => {
  const shutdown = quiet();
  const { body, send, cancelled } = writtenBody();
  const port = await serve(shutdown, () => Promise.resolve(new Response(body)));
  const wire = connected(port, "/");
  send("one");
  await wire.gets(/one/);
  assert.equal(shutdown.active, 1);
  await wire.destroy();
  // Some only notice when they write.
  await until(() => {
    if (cancelled.length === 0) send("more");
    return shutdown.active === 0;
  });
  assert.equal((await finish(shutdown)).drained, true);
});

test(`serve: an error in the handler is the server's to answer, and is not in flight afterwards, ${runtime}`, async () => {
  const shutdown = quiet();
  const port = await serve(shutdown, () => Promise.reject(new Error("boom")));
  const wire = connected(port, "/");
  await wire.gets(/failed/);
  assert.match(wire.text, /^HTTP\/1.1 500 /);
  await until(() => shutdown.active === 0);
  assert.equal((await finish(shutdown)).drained, true);
  await wire.destroy();
});

test(`serve: an upload is in flight while it comes in, ${runtime}`, async () => {
  const shutdown = quiet();
  const port = await serve(shutdown, async (request) => new Response(`got ${await request.text()}`));
  const wire = connected(port, "POST /upload", "content-length: 6");
  wire.write("abc");
  await until(() => shutdown.active === 1);
  shutdown.request();
  await nextTurn();
  assert.deepEqual(shutdown.labels, ["POST /upload"]);
  wire.write("def");
  await wire.gets(/got abcdef/);
  assert.equal((await shutdown.finished).drained, true);
  await wire.destroy();
});

test(`serve: an upload that dribbles in after its answer counts for at most a second, ${runtime}`, async () => {
  const shutdown = quiet();
  const port = await serve(shutdown, () => Promise.resolve(new Response("early")));
  const wire = connected(port, "POST /upload", "content-length: 1000");
  const dribble = setInterval(() => wire.socket.destroyed || wire.write("x"), 20);
  try {
    await wire.gets(/early/);
    const { ok, remaining } = await finish(shutdown);
    assert.deepEqual([ok, remaining], [true, []]);
  } finally {
    clearInterval(dribble);
    await wire.destroy();
  }
});

test(`serve: what is left at the end is cut, ${runtime}`, async () => {
  const shutdown = quiet({ grace: 50 });
  const { body, send } = writtenBody();
  const port = await serve(shutdown, (request) => {
    return request.url.endsWith("/stream") ? Promise.resolve(new Response(body)) : new Promise(() => {});
  });
  const wires = [connected(port, "/stream"), connected(port, "/never")];
  send("one");
  await wires[0]!.gets(/one/);
  await until(() => shutdown.active === 2);
  const { drained, remaining } = await finish(shutdown);
  assert.deepEqual([drained, remaining.toSorted()], [false, ["GET /never", "GET /stream"]]);
  await Promise.all(wires.map((wire) => wire.end()));
  assert.doesNotMatch(wires[0]!.text, /\r\n0\r\n\r\n$/);
});

test(`serve: a large body that is no stream is in flight while it is sent, ${runtime}`, async () => {
  const shutdown = quiet({ grace: 100 });
  const port = await serve(shutdown, () => Promise.resolve(new Response("x".repeat(12_000_000))));
  const wire = connected(port, "/large");
  await wire.gets(/200 OK/);
  wire.socket.pause();
  for (let i = 0; i < 20; i++) await nextTurn(); // what fits into buffers is sent
  assert.deepEqual(shutdown.labels, ["GET /large"]);
  const { drained, remaining } = await finish(shutdown);
  wire.socket.destroy();
  assert.deepEqual([drained, remaining], [false, ["GET /large"]]);
});

if (runtime === "deno") {
  test("serve: once an upload has been read, the listener is closed while its handler works, deno", async () => {
    const shutdown = quiet();
    const work = gate();
    const port = await serve(shutdown, async (request) => {
      const text = await request.text();
      await work.promise;
      return new Response(text);
    });
    const upload = connected(port, "POST /", "content-length: 6");
    upload.write("abc");
    await until(() => shutdown.active === 1);
    const stopped = stop(shutdown);
    upload.write("def");
    await stopped;
    assert.deepEqual(shutdown.labels, ["POST /"]);
    work.open();
    await upload.gets(/abcdef/);
    assert.equal((await shutdown.finished).ok, true);
  });

  test("serve: after an upload, the listener is closed only once the other clients have requests in flight, deno", async () => {
    const shutdown = quiet({ idle: 10_000 });
    const port = await serve(shutdown, async (request) => {
      if (request.method === "GET") return new Response("got");
      return new Response(await request.text());
    });
    const other = connected(port, "/first");
    await other.gets(/got/);
    const upload = connected(port, "POST /", "content-length: 6");
    upload.write("abc");
    await until(() => shutdown.active === 1);
    shutdown.request();
    const held = connected(port, "/held");
    await held.gets(/got/); // its response was held back for as long as the listener was about to close
    upload.write("def");
    await upload.gets(/abcdef/);
    // Each request of a client that goes on is answered, and the last answer sends it away.
    for (let i = 2; !/connection: close/i.test(other.text); i++) {
      other.send("/next");
      while (other.text.match(/got/g)!.length < i) await nextTurn();
    }
    await other.end();
    await held.destroy();
    assert.equal((await shutdown.finished).ok, true);
    await upload.destroy();
  });

  for (
    const [name, head, read] of [
      ["read late", "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 3", (request: Request) => request.text()],
      ["never read", "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 3", () => "abc"],
      ["without a body", "DELETE / HTTP/1.1\r\nhost: a", (request: Request) => request.text()],
    ] as const
  ) {
    test(`serve: requests that overlap, ${name}, do not keep the listener open, deno`, async () => {
      const shutdown = quiet({ grace: 3_000 });
      let requests = 0;
      let arrived = () => {};
      const port = await serve(shutdown, async (request) => {
        requests++;
        arrived();
        // Until the next request has arrived, or a moment if none comes
        await new Promise<void>((next) => setTimeout(arrived = next, 100));
        return new Response(`got ${await read(request)}`);
      });
      const clients = Array.from({ length: 2 }, async () => {
        const wire = connected(port);
        do {
          wire.text = "";
          wire.write(`${head}\r\n\r\n${head.startsWith("POST") ? "abc" : ""}`);
          while (!/got|shutting down/.test(wire.text) && !wire.socket.destroyed) await nextTurn();
        } while (!/connection: close/i.test(wire.text) && !wire.socket.destroyed);
        await wire.destroy();
        return wire.text.slice(0, 12);
      });
      await until(() => requests > 4);
      const { ok, remaining } = await finish(shutdown);
      assert.deepEqual([ok, remaining], [true, []]);
      assert.deepEqual(await Promise.all(clients), ["HTTP/1.1 200", "HTTP/1.1 200"]);
    });
  }

  test("serve: an answer that consists of its upload is not held back, deno", async () => {
    const shutdown = quiet({ idle: 10_000 });
    let arrived = 0;
    const port = await serve(shutdown, (request) => {
      arrived++;
      return Promise.resolve(new Response(request.method === "GET" ? "got" : request.body));
    });
    const other = connected(port, "/");
    await other.gets(/got/);
    shutdown.request();
    const upload = connected(port, "POST /", "content-length: 6");
    await until(() => arrived === 2); // the listener is about to close: responses are held back
    upload.write("abc");
    await upload.gets(/abc/);
    upload.write("def");
    await upload.gets(/def/);
    assert.equal((await shutdown.finished).ok, true);
    await Promise.all([upload.destroy(), other.destroy()]);
  });

  test("serve: a request without a body does not keep the listener open while its handler works, deno", async () => {
    const shutdown = quiet({ grace: 2_000 });
    const work = gate();
    const port = await serve(shutdown, async () => {
      await work.promise;
      return new Response("deleted");
    });
    const wire = connected(port, "DELETE /");
    await until(() => shutdown.active === 1);
    await stop(shutdown);
    assert.equal(shutdown.forced.aborted, false);
    work.open();
    await wire.gets(/connection: close[^]*deleted/i);
    assert.equal((await shutdown.finished).ok, true);
    await wire.destroy();
  });

  test("serve: when forced during an upload, the listener is closed also if the server has no signal, deno", async () => {
    const shutdown = quiet({ grace: 50 });
    const port = serveFetch(shutdown, async (request) => new Response(await request.text()));
    const wire = connected(port);
    wire.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 500\r\n\r\na");
    await until(() => shutdown.active === 1);
    const { remaining } = await finish(shutdown);
    assert.deepEqual(remaining, ["POST /"]);
    await until(() => isFree(port));
    wire.socket.destroy();
    await wire.end();
  });

  test("serve: a large body that is cut breaks off, also if the server has no signal, deno", async () => {
    const shutdown = quiet({ grace: 50 });
    const port = serveFetch(shutdown, () => new Response("x".repeat(12_000_000)));
    const wire = connected(port, "/");
    await wire.gets(/200 OK[^]*\r\n\r\n/);
    assert.match(wire.text, /content-length: 12000000\r\n/i);
    wire.socket.pause();
    for (let i = 0; i < 20; i++) await nextTurn(); // what fits into buffers is sent
    assert.deepEqual((await finish(shutdown)).remaining, ["GET /"]);
    wire.socket.resume();
    await wire.end();
    assert.ok(wire.bytes < 12_000_000);
  });

  test("serve: when forced, no listener of the process sees an exception of the server's, deno", async () => {
    const uncaught: unknown[] = [];
    const listener = (error: unknown) => void uncaught.push(error);
    process.on("uncaughtException", listener);
    const shutdown = quiet({ grace: 50 });
    const port = await serve(shutdown, () => new Promise(() => {}));
    const wire = connected(port, "/never");
    await until(() => shutdown.active === 1);
    await finish(shutdown);
    process.off("uncaughtException", listener);
    await wire.end();
    assert.deepEqual(uncaught, []);
  });

  test("serve: WebSockets are closed with 1001 and waited for, deno", async () => {
    const shutdown = quiet();
    const port = await serve(shutdown, (request) => {
      const { socket, response } = Deno!.upgradeWebSocket(request);
      shutdown.webSocket(socket, "chat");
      return Promise.resolve(response);
    });
    await closedWith1001(port, shutdown);
  });

  test("serve: a WebSocket whose own close still answers is not closed with the listener, deno", async () => {
    const shutdown = quiet();
    const work = gate();
    const port = await serve(shutdown, (request) => {
      const { socket, response } = Deno!.upgradeWebSocket(request);
      const close = async () => {
        await work.promise;
        socket.send("answer");
        socket.close(1001);
      };
      shutdown.webSocket(socket, { close });
      return Promise.resolve(response);
    });
    const client = new WebSocket(`ws://127.0.0.1:${port}`);
    const seen: unknown[] = [];
    client.onmessage = ({ data }) => void seen.push(data);
    await new Promise((resolve) => client.onopen = resolve);
    shutdown.request();
    const closed = new Promise((resolve) => client.onclose = ({ code }) => resolve(seen.push(code)));
    await Promise.race([closed, sleep(600)]); // in which the listener would be closed
    work.open();
    await closed;
    assert.deepEqual(seen, ["answer", 1001]);
    assert.equal((await shutdown.finished).drained, true);
  });

  test("serve: a WebSocket that opens after the signal is closed with 1001 at once, deno", async () => {
    const shutdown = quiet();
    const handler = shutdown.handler((request) => {
      const { socket, response } = Deno!.upgradeWebSocket(request);
      shutdown.webSocket(socket); // it is still opening
      return response;
    });
    const server = Deno!.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, handler); // not attached: it goes on
    const work = gate();
    shutdown.track(work.promise);
    shutdown.request();
    const client = new WebSocket(`ws://127.0.0.1:${server.addr.port}`);
    assert.equal(await new Promise((resolve) => client.onclose = ({ code }) => resolve(code)), 1001);
    work.open();
    assert.equal((await shutdown.finished).drained, true);
    await server.shutdown();
  });
}

if (runtime === "bun") {
  for (const attached of [true, false]) {
    const how = attached ? "attached" : "with its handler alone";
    test(`serve: a stream over a Unix socket is in flight until its end, ${how}, bun`, async () => {
      const unix = join(tmpdir(), `interlock-${process.pid}-${attached}.sock`);
      const shutdown = quiet();
      const { body, send, out } = writtenBody();
      const server = Bun!.serve({ unix, fetch: shutdown.handler(() => Promise.resolve(new Response(body))) });
      if (attached) shutdown.attach(server);
      const wire = connected(unix, "/stream");
      send("one");
      await wire.gets(/one/);
      assert.deepEqual(shutdown.labels, ["GET /stream"]);
      shutdown.request();
      let finished = false;
      const report = shutdown.finished.finally(() => finished = true);
      await nextTurn();
      assert.deepEqual([finished, shutdown.labels], [false, ["GET /stream"]]);
      send("two");
      out.close();
      await wire.gets(/two\r\n0\r\n\r\n$/);
      assert.equal((await report).drained, true);
      await wire.destroy();
      await server.stop(true);
    });
  }

  /** Starts a server of WebSockets. Returns its port. */
  const chat = (shutdown: GracefulShutdown): number => {
    type Socket = WebSocketLike & { data: { closed?: () => void } };
    const websocket = {
      open: (socket: Socket) => void (socket.data.closed = shutdown.webSocket(socket, "chat")),
      close: (socket: Socket) => socket.data.closed?.(),
      message: () => {},
    };
    return serveFetch(shutdown, (request, server) => {
      return server.upgrade(request, { data: {} }) ? undefined : new Response("no", { status: 400 });
    }, { websocket });
  };

  test("serve: WebSockets are closed with 1001 and waited for, bun", async () => {
    const shutdown = quiet();
    await closedWith1001(chat(shutdown), shutdown);
  });

  test("serve: a WebSocket that opens in the delay is closed with 1001 at once and not waited for, bun", async () => {
    const shutdown = quiet({ delay: 3_000, grace: 30_000 });
    const port = chat(shutdown);
    shutdown.request();
    const client = new WebSocket(`ws://127.0.0.1:${port}`);
    assert.equal(await new Promise((resolve) => client.onclose = ({ code }) => resolve(code)), 1001);
    assert.deepEqual((await shutdown.finished).remaining, []);
  });
}

async function closedWith1001(port: number, shutdown: GracefulShutdown): Promise<void> {
  const clients = Array.from({ length: 3 }, () => new WebSocket(`ws://127.0.0.1:${port}`));
  const codes = clients.map((client) => new Promise((resolve) => client.onclose = ({ code }) => resolve(code)));
  await Promise.all(clients.map((client) => new Promise((resolve) => client.onopen = resolve)));
  await until(() => shutdown.labels.join() === "chat,chat,chat");
  shutdown.request();
  assert.deepEqual(await Promise.all(codes), [1001, 1001, 1001]);
  assert.equal((await shutdown.finished).drained, true);
}
