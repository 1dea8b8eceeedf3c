/** Servers that are detached, that could not listen, and that an app has made itself. */
import assert from "node:assert/strict";
import { hasSubscribers } from "node:diagnostics_channel";
import { EventEmitter } from "node:events";
import { createServer, type RequestListener, Server } from "node:http";
import { runtime, test } from "../_test.ts";
import { until } from "../_tools.ts";
import { connected, finish, gate, host, isFree, listen, quiet, serving, servingSlowly, stop } from "./client.ts";

/** Closes a server that goes on, and its clients. */
async function closed(server: Server, ...clients: { destroy(): unknown }[]): Promise<void> {
  for (const client of clients) client.destroy();
  await new Promise((closed) => server.close(closed));
}

test(`detach: a server goes on, and its requests in flight stay counted, ${runtime}`, async () => {
  const shutdown = quiet();
  const { server, connect, slow, open } = await servingSlowly(shutdown);
  shutdown.detach(server);
  shutdown.detach(server); // twice is once
  const other = connect();
  await other.ask("/other", /done/);
  assert.deepEqual(shutdown.labels, ["GET /slow"]);
  await stop(shutdown);
  assert.deepEqual([server.listening, shutdown.labels], [true, ["GET /slow"]]);
  open();
  await slow.gets(/done \/slow;/);
  assert.deepEqual([(await shutdown.finished).ok, server.listening], [true, true]);
  await other.ask("/again", /done \/again;/);
  assert.doesNotMatch(other.text, /connection: close/i);
  await closed(server, slow, other);
});

test(`detach: a request in flight is cut with its connection when the shutdown is forced, ${runtime}`, async () => {
  const shutdown = quiet({ grace: 50 });
  const { server, connect, slow } = await servingSlowly(shutdown);
  const other = connect();
  shutdown.detach(server);
  assert.deepEqual((await finish(shutdown)).remaining, ["GET /slow"]);
  await slow.end();
  await other.ask("/other", /done/);
  await closed(server, other);
});

/** Whether any shutdown looks for servers with the same listener. */
function looks(): boolean {
  if (runtime !== "bun") return hasSubscribers("net.server.socket");
  return Server.prototype.emit !== EventEmitter.prototype.emit;
}

test(`detach: it no longer looks for servers with the same listener, ${runtime}`, () => {
  const shutdown = quiet();
  const server = createServer();
  for (let i = 0; i < 3; i++) {
    shutdown.attach(server);
    assert.equal(looks(), true);
    shutdown.detach(server);
    assert.equal(looks(), false);
  }
});

test(`detach: a method that was replaced after attach stays, ${runtime}`, () => {
  const shutdown = quiet();
  const server = shutdown.attach(createServer());
  const emit = () => true;
  server.emit = emit;
  shutdown.detach(server);
  assert.equal(server.emit, emit);
});

test(`detach: a server can be attached again, there or elsewhere, ${runtime}`, async () => {
  const [first, second] = [quiet(), quiet()];
  const server = createServer((_, response) => response.end(`${second.labels}`));
  first.attach(server);
  first.detach(server);
  second.detach(first.attach(server)); // not its own: it stays with the first
  assert.throws(() => second.attach(server), /belong to one/);
  first.detach(server);
  const client = connected(await listen(second.attach(server)));
  await client.ask("/once", /GET \/once$/);
  assert.equal((await finish(first)).ok, true);
  assert.equal(server.listening, true);
  assert.equal((await finish(second)).ok, true);
  assert.equal(server.listening, false);
});

test(`detach: while the accept queue is emptied, the server goes on listening, ${runtime}`, async () => {
  const shutdown = quiet();
  const { server, connect } = await serving(shutdown, (_, response) => response.end("done"));
  shutdown.request();
  shutdown.detach(server);
  assert.equal((await shutdown.finished).ok, true);
  const client = connect();
  await client.ask("/", /done/);
  await closed(server, client);
});

test(`detach: during the shutdown, a server is left as it was, ${runtime}`, async () => {
  const shutdown = quiet({ delay: 20 });
  const server = createServer();
  const { close } = server;
  await listen(shutdown.attach(server));
  shutdown.request();
  assert.notEqual(server.close, close);
  shutdown.detach(server);
  assert.equal(server.close, close);
  assert.equal((await shutdown.finished).ok, true);
  assert.equal(server.listening, true);
  await closed(server);
});

test(`attach: a server whose port was taken can be attached again, and listens elsewhere, ${runtime}`, async () => {
  const shutdown = quiet();
  const occupant = createServer();
  const taken = await listen(occupant);
  const server = shutdown.attach(createServer((_, response) => response.end(`${shutdown.labels}`)));
  const failed = new Promise<Error & { code?: string }>((resolve) => server.once("error", resolve));
  server.listen(taken, host);
  assert.equal((await failed).code, "EADDRINUSE");
  shutdown.attach(server);
  const port = await listen(server);
  await connected(port).ask("/once", /GET \/once$/);
  assert.equal((await finish(shutdown)).ok, true);
  assert.ok(await isFree(port));
  await closed(occupant);
});

test(`attach: other servers of the same app are attached by their first connection, ${runtime}`, async () => {
  const shutdown = quiet({ idle: 10_000 });
  const { promise, open } = gate();
  const app: RequestListener = async (request, response) => {
    if (request.url === "/slow") await promise;
    response.end(`done ${request.url};`);
  };
  const [main, second, stranger] = [createServer(app), createServer(app), createServer((_, r) => void r.end("own"))];
  await listen(shutdown.attach(main, { label: ({ url }) => `of the app: ${url}` }));
  const port = await listen(second);
  const other = connected(await listen(stranger));
  await other.ask("/", /own/);
  const slow = connected(port, "/slow");
  await until(() => shutdown.active === 1);
  assert.deepEqual(shutdown.labels, ["of the app: /slow"]);
  await stop(shutdown);
  assert.deepEqual([main.listening, second.listening, stranger.listening], [false, false, true]);
  open();
  await slow.gets(/connection: close[^]*done \/slow;/i);
  await slow.end();
  assert.equal((await shutdown.finished).ok, true);
  await closed(stranger, other);
});
