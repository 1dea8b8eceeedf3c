/** Servers of node:http2, attached: GOAWAY at the signal, streams counted until they end, sessions closed when idle. */
import assert from "node:assert/strict";
import {
  type ClientHttp2Session,
  connect,
  constants,
  createSecureServer,
  createServer,
  type Http2SecureServer,
  type Http2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { request as httpsRequest } from "node:https";
import { runtime, test } from "../_test.ts";
import { until } from "../_tools.ts";
import { cert, key } from "./certificate.ts";
import { finish, gate, host, isFree, listen, quiet, stop } from "./client.ts";

const kinds = {
  "h2c": { create: () => createServer(), scheme: "http" },
  "secure": { create: () => createSecureServer({ cert, key }), scheme: "https" },
  "secure with allowHTTP1": { create: () => createSecureServer({ cert, key, allowHTTP1: true }), scheme: "https" },
};

interface Session {
  client: ClientHttp2Session;
  goaway: boolean;
  closed: boolean;
}

async function open(server: Http2Server | Http2SecureServer, scheme: string): Promise<[port: number, Session]> {
  const port = await listen(server);
  const client = connect(`${scheme}://${host}:${port}`, { rejectUnauthorized: false });
  const session = { client, goaway: false, closed: false };
  client.on("error", () => {});
  client.on("goaway", (code) => session.goaway = code === constants.NGHTTP2_NO_ERROR);
  client.on("close", () => session.closed = true);
  await new Promise<void>((connected) => client.once("connect", () => connected()));
  return [port, session];
}

/** Answers a stream with 200. */
function reply(stream: ServerHttp2Stream, text = "hello"): void {
  stream.respond({ ":status": 200 });
  stream.end(text);
}

/** Sends a request; resolves to status and body. */
function get({ client }: Session, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const stream = client.request({ ":path": path });
    let [status, text] = ["", ""];
    stream.setEncoding("utf8");
    stream.on("response", (headers) => status = `${headers[":status"]}`);
    stream.on("data", (piece) => text += piece);
    stream.on("end", () => resolve(`${status} ${text}`));
    stream.on("error", reject);
    stream.end();
  });
}

for (const [name, { create, scheme }] of Object.entries(kinds)) {
  test(`http2: ${name}: a stream is in flight until it ends, the listener is closed meanwhile, ${runtime}`, async () => {
    const shutdown = quiet();
    const slow = gate();
    const server = shutdown.attach(create());
    server.on("stream", async (stream: ServerHttp2Stream, headers) => {
      if (headers[":path"] === "/slow") await slow.promise;
      reply(stream, `done ${headers[":path"]}`);
    });
    const [port, session] = await open(server, scheme);
    assert.equal(await get(session, "/first"), "200 done /first");
    const answer = get(session, "/slow");
    await until(() => shutdown.active === 1);
    await stop(shutdown);
    assert.deepEqual(shutdown.labels, ["GET /slow"]);
    assert.ok(await isFree(port));
    await until(() => session.goaway);
    slow.open();
    assert.equal(await answer, "200 done /slow");
    const { ok, remaining } = await shutdown.finished;
    assert.deepEqual([ok, remaining], [true, []]);
    await until(() => session.closed);
  });

  test(`http2: ${name}: a stream that arrives before the listener is closed is handled afterwards, ${runtime}`, async () => {
    const shutdown = quiet();
    const server = shutdown.attach(create());
    server.on("stream", (stream: ServerHttp2Stream, headers) => {
      if (headers[":path"] === "/asks") shutdown.request();
      reply(stream, `listening: ${server.listening}`);
    });
    const [, session] = await open(server, scheme);
    const answers = [get(session, "/asks"), get(session, "/held")]; // in one piece
    assert.deepEqual(await Promise.all(answers), ["200 listening: true", "200 listening: false"]);
    assert.equal((await shutdown.finished).ok, true);
  });

  test(`http2: ${name}: a client gets GOAWAY with its next stream, before its session is idle, ${runtime}`, async () => {
    const shutdown = quiet({ idle: 60_000 });
    const server = shutdown.attach(create());
    const sessions: ServerHttp2Session[] = [];
    server.on("session", (session: ServerHttp2Session) => sessions.push(session));
    server.on("stream", (stream: ServerHttp2Stream) => reply(stream));
    const [, session] = await open(server, scheme);
    assert.equal(await get(session, "/"), "200 hello");
    await stop(shutdown);
    assert.equal(await get(session, "/next"), "200 hello");
    assert.equal(session.goaway, true);
    for (const each of sessions) each.destroy(); // behind a GOAWAY, clients on Node (26.10) do not end an idle session
    assert.equal((await shutdown.finished).ok, true);
  });

  test(`http2: ${name}: streams that are on their way when the listener is closed are served, ${runtime}`, async () => {
    const shutdown = quiet({ idle: 1_000 });
    const server = shutdown.attach(create());
    server.on("stream", (stream: ServerHttp2Stream) => void setTimeout(() => reply(stream), 5));
    const [, session] = await open(server, scheme);
    assert.equal(await get(session, "/first"), "200 hello");
    const running = get(session, "/running");
    await until(() => shutdown.active === 1);
    const late = new Promise<string[]>((resolve, reject) => {
      shutdown.onShutdown(() => void Promise.all([get(session, "/a"), get(session, "/b")]).then(resolve, reject));
    });
    shutdown.request();
    assert.deepEqual([await running, ...await late], ["200 hello", "200 hello", "200 hello"]);
    await until(() => session.closed);
    assert.equal((await shutdown.finished).ok, true);
  });

  test(`http2: ${name}: an unused session is closed while other work is in flight, ${runtime}`, async () => {
    const shutdown = quiet();
    const work = gate();
    shutdown.track(work.promise);
    const [, session] = await open(shutdown.attach(create()), scheme);
    await stop(shutdown);
    await until(() => session.closed);
    work.open();
    assert.equal((await shutdown.finished).ok, true);
  });

  test(`http2: ${name}: an idle session is closed, also through the compatible API, ${runtime}`, async () => {
    const shutdown = quiet();
    const server = shutdown.attach(create());
    const labels: string[][] = [];
    server.on("request", (_request: unknown, response: { end(text: string): void }) => {
      labels.push(shutdown.labels);
      response.end("hello");
    });
    const [, session] = await open(server, scheme);
    assert.equal(await get(session, "/path?query"), "200 hello");
    assert.deepEqual(labels, [["GET /path"]]);
    await until(() => shutdown.active === 0);
    await stop(shutdown);
    assert.equal((await shutdown.finished).ok, true);
    await until(() => session.closed);
  });

  test(`http2: ${name}: a session from before the server was attached is known by its next stream, ${runtime}`, async () => {
    const shutdown = quiet();
    const server = create();
    server.on("stream", (stream: ServerHttp2Stream) => reply(stream));
    const [, session] = await open(server, scheme);
    assert.equal(await get(session, "/before"), "200 hello");
    shutdown.attach(server);
    assert.equal(await get(session, "/after"), "200 hello");
    await until(() => shutdown.active === 0);
    await stop(shutdown);
    assert.equal((await shutdown.finished).ok, true);
    await until(() => session.closed);
    assert.equal(session.goaway, true);
  });

  test(`http2: ${name}: a stream that does not end is cut, ${runtime}`, async () => {
    const shutdown = quiet({ grace: 50 });
    const server = shutdown.attach(create());
    server.on("stream", () => {});
    const [, session] = await open(server, scheme);
    const answer = get(session, "/endless").catch(() => "cut");
    await until(() => shutdown.active === 1);
    await stop(shutdown);
    const { ok, remaining } = await shutdown.finished;
    assert.deepEqual([ok, remaining], [false, ["GET /endless"]]);
    await until(() => session.closed);
    assert.doesNotMatch(await answer, /200/);
  });
}

test(`http2: an upload that goes on behind its answer counts for at most a second, ${runtime}`, async () => {
  const shutdown = quiet({ grace: 60_000 });
  const server = shutdown.attach(createServer());
  server.on("stream", (stream: ServerHttp2Stream) => {
    stream.on("error", () => {});
    stream.once("data", () => reply(stream, "early"));
    stream.resume();
  });
  const [, session] = await open(server, "http");
  const upload = session.client.request({ ":method": "POST", ":path": "/" });
  upload.on("error", () => {});
  upload.write("a");
  await new Promise((ended) => upload.resume().once("end", ended));
  await stop(shutdown);
  const { ok, elapsed } = await shutdown.finished;
  assert.ok(ok && elapsed < 30_000);
});

test(`http2: a GET that sends its trailers late is in flight until its stream is closed, ${runtime}`, async () => {
  const shutdown = quiet();
  const server = shutdown.attach(createServer());
  let active: number | undefined;
  server.on("stream", (stream: ServerHttp2Stream) => {
    stream.respond({ ":status": 200 }, { waitForTrailers: true });
    stream.end("done");
    stream.on("wantTrailers", () => {
      // Longer than the body of an upload is awaited.
      setTimeout(() => {
        active = shutdown.active;
        stream.sendTrailers({ late: "yes" });
      }, 1_100);
    });
  });
  const [, session] = await open(server, "http");
  assert.equal(await get(session, "/slow"), "200 done");
  await stop(shutdown);
  assert.equal((await shutdown.finished).ok, true);
  assert.equal(active, 1);
});

test(`http2: at the signal, the service's own close() leaves sessions alone, ${runtime}`, async () => {
  const served = gate();
  const shutdown = quiet({ delay: () => served.promise, idle: 10_000 });
  const server = shutdown.attach(createServer((_, response) => void response.end("served")));
  shutdown.signal.addEventListener("abort", () => server.close());
  const [, session] = await open(server, "http");
  assert.equal(await get(session, "/"), "200 served");
  shutdown.request();
  assert.equal(await get(session, "/"), "200 served");
  served.open();
  session.client.destroy();
  assert.equal((await shutdown.finished).ok, true);
});

test(`http2: requests of HTTP/1.1 to a server with allowHTTP1 are counted once, and closed, ${runtime}`, async () => {
  const shutdown = quiet();
  const slow = gate();
  const server = shutdown.attach(createSecureServer({ cert, key, allowHTTP1: true }, async (_request, response) => {
    await slow.promise;
    response.writeHead(200, { connection: "keep-alive" }).end("done");
  }));
  const port = await listen(server);
  const answer = new Promise<[string | undefined, string]>((resolve, reject) => {
    const request = httpsRequest({ host, port, path: "/old", rejectUnauthorized: false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (piece) => text += piece);
      response.on("end", () => resolve([response.headers.connection, text]));
    });
    request.on("error", reject);
    request.end();
  });
  await until(() => shutdown.active === 1);
  await stop(shutdown);
  assert.deepEqual(shutdown.labels, ["GET /old"]);
  slow.open();
  assert.deepEqual(await answer, ["close", "done"]);
  assert.equal((await shutdown.finished).ok, true);
});

test(`http2: disposing of a server whose listener is closed is no error, ${runtime}`, async () => {
  const shutdown = quiet();
  const server = shutdown.attach(createServer());
  await listen(server);
  shutdown.onShutdown(() => server[Symbol.asyncDispose]());
  assert.deepEqual((await finish(shutdown)).errors, []);
  await server[Symbol.asyncDispose]();
  assert.equal(server.listening, false);
});

const firstStreams = Object.entries(kinds).flatMap(([name, kind]) => [
  { ...kind, late: "serve" as const, title: `${name}: the first stream of a session is served behind the signal` },
  { ...kind, late: "refuse" as const, title: `${name}: the first stream of a session is refused if asked to, unseen` },
]);
for (const { title, create, scheme, late } of firstStreams) {
  test(`http2: ${title}, ${runtime}`, async () => {
    const shutdown = quiet({ idle: 2_000, late });
    const server = shutdown.attach(create());
    const seen: unknown[] = [];
    server.on("stream", (stream: ServerHttp2Stream, headers) => {
      seen.push(headers[":path"]);
      reply(stream, `done ${headers[":path"]}`);
    });
    const port = await listen(server);
    const accepted = new Promise((accepted) => server.once("connection", accepted));
    const client = connect(`${scheme}://${host}:${port}`, { rejectUnauthorized: false });
    client.on("error", () => {});
    const ask = () => get({ client, goaway: false, closed: false }, "/first");
    const early = late === "serve" ? ask() : undefined;
    await accepted;
    await stop(shutdown);
    const answer = early ?? ask(); // refused only once the listener is closed
    assert.equal(await answer, late === "serve" ? "200 done /first" : "503 The server is shutting down.\n");
    assert.deepEqual(seen, late === "serve" ? ["/first"] : []);
    assert.equal((await shutdown.finished).ok, true);
    client.destroy();
  });
}

// In Node (26.10) and Deno (2.9.6), a session that has sent a GOAWAY ignores new streams.
if (runtime === "bun") {
  test("http2: a stream that crosses the GOAWAY gets 503 only if asked to, bun", async () => {
    const shutdown = quiet({ late: "refuse", idle: 10_000 });
    const server = shutdown.attach(createServer());
    server.on("stream", (stream: ServerHttp2Stream) => reply(stream, "done"));
    const [, session] = await open(server, "http");
    assert.equal(await get(session, "/first"), "200 done");
    const late = new Promise((resolve) => void shutdown.onShutdown(() => resolve(get(session, "/late"))));
    shutdown.request();
    assert.equal(await late, "503 The server is shutting down.\n");
    session.client.close();
    assert.equal((await shutdown.finished).ok, true);
  });

  test("http2: a stream that crosses the GOAWAY may take its time, bun", async () => {
    const shutdown = quiet({ idle: 200 });
    const server = shutdown.attach(createServer());
    // Longer than a session without streams is waited for.
    server.on("stream", (stream: ServerHttp2Stream) => void setTimeout(() => reply(stream, "done"), 1_500));
    const [, session] = await open(server, "http");
    const answer = get(session, "/late");
    shutdown.request();
    assert.equal(shutdown.active, 0);
    assert.equal(await answer, "200 done");
    assert.equal((await shutdown.finished).ok, true);
  });
}
