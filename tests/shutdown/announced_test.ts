/** What a client was told of its connection is what happens to it, in whichever way the handler sets the header. */
import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { runtime, test } from "../_test.ts";
import { nextTurn } from "../_tools.ts";
import { type Client, gate, quiet, serving, stop } from "./client.ts";

const KEEP = "keep-alive";

/** Every way to set the header and to begin an answer. */
const ANSWERS: Record<string, (response: ServerResponse) => unknown> = {
  "nothing": (response) => response.end("done"),
  "setHeader": (response) => response.setHeader("Connection", KEEP).end("done"),
  "setHeaders": (response) => response.setHeaders(new Headers({ connection: KEEP })).end("done"),
  "appendHeader": (response) => response.appendHeader("Connection", KEEP).end("done"),
  "removeHeader": (response) => {
    response.removeHeader("Connection");
    response.end("done");
  },
  "writeHead with an object": (response) => response.writeHead(200, { Connection: KEEP, "x-own": "1" }).end("done"),
  "writeHeader, which is its other name up to Node 24": (response) => {
    const { writeHeader = response.writeHead } = response as ServerResponse & Partial<Record<"writeHeader", never>>;
    (writeHeader as typeof response.writeHead).call(response, 200, { Connection: KEEP });
    response.end("done");
  },
  "writeHead with a message": (response) => response.writeHead(200, "fine", { Connection: KEEP }).end("done"),
  "writeHead with a raw array": (response) => response.writeHead(200, ["x-own", "1", "Connection", KEEP]).end("done"),
  "writeHead with an undefined message": (response) =>
    response.writeHead(200, undefined as never, { Connection: KEEP }).end("done"),
  "setHeader, writeHead": (response) => {
    response.setHeader("connection", KEEP);
    response.writeHead(200, { "CONNECTION": KEEP }).end("done");
  },
  "setHeader, writeHead with a raw array": (response) => {
    response.setHeader("x-own", "1");
    response.writeHead(200, ["connection", KEEP]).end("done");
  },
  "flushHeaders": (response) => {
    response.setHeader("connection", KEEP);
    response.flushHeaders();
    response.end("done");
  },
  "writeHead with pairs": (response) =>
    response.writeHead(200, [["x-own", "1"], ["Connection", KEEP]] as never).end("done"),
  "write": (response) => {
    response.setHeader("connection", KEEP);
    response.write("do");
    response.end("ne");
  },
};

function check({ text, errors }: Client, name: string): void {
  assert.match(text, /\r\nconnection: close\r\n/i, name);
  assert.doesNotMatch(text, /keep-alive/i, name);
  assert.match(text, /d[^]*o[^]*n[^]*e/, name);
  assert.deepEqual(errors, [], name);
}

for (const [name, answer] of Object.entries(ANSWERS)) {
  test(`announced: ${name}: in flight at the signal, in a listener of it, and later, ${runtime}`, async () => {
    const shutdown = quiet({ idle: 10_000, delay: 20 });
    const { promise, open } = gate();
    const { connect } = await serving(shutdown, async (request, response) => {
      if (request.url === "/slow") await promise;
      if (request.url === "/listener") shutdown.signal.addEventListener("abort", () => answer(response));
      else answer(response);
    });
    const [slow, listener, late] = [connect(), connect(), connect()];
    slow.send("/slow");
    listener.send("/listener");
    await late.ask("/", /d[^]*o[^]*n[^]*e/);
    late.text = "";
    while (shutdown.active < 2) await nextTurn();
    shutdown.request();
    late.send("/late");
    await nextTurn();
    open();
    for (const client of [slow, listener, late]) {
      await client.end();
      check(client, name);
    }
    assert.equal((await shutdown.finished).ok, true);
  });
}

/** As packages such as on-headers do: before the signal, and what they set is set when the head is written. */
const WRAPPERS: Record<string, (response: ServerResponse, head: ServerResponse["writeHead"]) => unknown> = {
  "setHeader": (response, head) => head.call(response.setHeader("Connection", KEEP), 200),
  "appendHeader": (response, head) => head.call(response.appendHeader("Connection", KEEP), 200),
  "an object": (response, head) => head.call(response, 200, { Connection: KEEP }),
  "a raw array": (response, head) => head.call(response, 200, ["Connection", KEEP]),
};

for (const [name, wrapper] of Object.entries(WRAPPERS)) {
  test(`announced: a writeHead that was replaced before the signal and sets ${name}, ${runtime}`, async () => {
    const shutdown = quiet();
    const { promise, open } = gate();
    const { connect } = await serving(shutdown, async (_, response) => {
      const head = response.writeHead;
      response.writeHead = () => wrapper(response, head) as ServerResponse;
      await promise;
      response.end("done");
    });
    const client = connect();
    client.send("/");
    while (shutdown.active < 1) await nextTurn();
    await stop(shutdown);
    open();
    await client.end();
    check(client, name);
    assert.equal((await shutdown.finished).ok, true);
  });
}

test(`announced: headers that a null follows are sent, ${runtime}`, async () => {
  const shutdown = quiet();
  const { connect } = await serving(shutdown, async (_, response) => {
    await stop(shutdown);
    const head = response.writeHead as (...all: unknown[]) => unknown;
    head.call(response, 200, { "Connection": KEEP, "x-own": "1" }, null);
    response.end("done");
  });
  const client = connect();
  client.send("/");
  await client.end();
  check(client, "null");
  assert.match(client.text, /x-own: 1\r\n/i);
});

test(`announced: several headers of one name are sent as before the signal, ${runtime}`, async () => {
  const lists: readonly (readonly unknown[])[] = [
    ["set-cookie", "a=1", "Set-Cookie", "b=2", "x-own", "1"],
    [["set-cookie", "a=1"], ["set-cookie", "b=2"], ["x-own", "1"]],
    ["set-cookie", ["a=1", "b=2"], "x-own", "1"],
  ];
  for (const list of lists) {
    const shutdown = quiet({ idle: 10_000 });
    const { connect } = await serving(shutdown, (_, response) => {
      response.writeHead(200, list as never).end("done");
    });
    const client = connect();
    await client.ask("/", /done/);
    const before = client.text.match(/set-cookie: .*/gi);
    client.text = "";
    await stop(shutdown);
    client.send("/");
    await client.end();
    assert.deepEqual(
      client.text.match(/set-cookie: .*/gi)?.join().toLowerCase(),
      before?.join().toLowerCase(),
      `${list}`,
    );
    assert.match(client.text, /x-own: 1\r\n/i);
    check(client, `${list}`);
    await shutdown.finished;
  }
});

test(`announced: a protocol that is switched by an answer is left alone, ${runtime}`, async () => {
  const shutdown = quiet();
  const { connect } = await serving(shutdown, async (_, response) => {
    await stop(shutdown);
    response.writeHead(101, { connection: "upgrade", upgrade: "echo" });
    response.flushHeaders();
  });
  const client = connect();
  await client.ask("/", /101[^]*connection: upgrade/i);
  client.destroy();
  await shutdown.finished;
});

for (const method of ["GET", "POST"]) {
  test(`announced: an early answer to a ${method} says close, and is not lost, ${runtime}`, async () => {
    const shutdown = quiet();
    let answer: (() => void) | undefined;
    const { connect } = await serving(shutdown, (_, response) => {
      answer = () => response.writeHead(401, { "content-length": 3, "connection": KEEP }).end("no;");
    });
    const client = connect();
    client.write(`${method} /upload HTTP/1.1\r\nhost: a\r\ncontent-length: 4000000\r\n\r\n`);
    while (answer === undefined) await nextTurn();
    await stop(shutdown);
    client.write("x".repeat(1_000_000));
    answer();
    await client.gets(/401[^]*connection: close[^]*no;$/i);
    client.write("x".repeat(3_000_000));
    await client.end();
    assert.deepEqual(client.errors, []);
    assert.equal((await shutdown.finished).ok, true);
  });
}
