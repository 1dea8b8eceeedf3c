/** The adapter for Bun's client, beyond the tests of all clients, over a double that runs in every run-time. */
import assert from "node:assert/strict";
import { bunRedis, type BunRedisClient } from "../../../lib/redis/mod.ts";
import { test } from "../../_test.ts";
import { flushMicrotasks } from "../../_tools.ts";
import { fails, works } from "./_doubles.ts";

type Client = BunRedisClient & { connected: boolean };

/** A double with a connection, whose commands succeed. */
function clientOf(members: Partial<Client> = {}): Client {
  return {
    send: works,
    duplicate: fails,
    subscribe: works,
    close: () => {},
    connected: true,
    onconnect: null,
    onclose: null,
    ...members,
  };
}

test("bunRedis: commands in Bun's form, and an existing onclose is still called", async () => {
  const sent: string[][] = [];
  let closes = 0;
  const client = clientOf({
    send: (command, args) => Promise.resolve(sent.push([command, ...args])),
    onclose: () => closes++,
  });
  const backend = bunRedis(client);
  assert.equal(bunRedis(client), backend);
  await backend.evalsha("sha", ["k"], ["a", "b"]);
  await backend.eval("text", [], []);
  assert.deepEqual(sent, [["EVALSHA", "sha", "1", "k", "a", "b"], ["EVAL", "text", "0"]]);
  let told = 0;
  backend.onClose!(() => told++);
  assert.equal(backend.closed, false);
  client.connected = false;
  (client.onclose as () => void)();
  assert.deepEqual([backend.closed, told, closes], [true, 1, 1]);
});

test("bunRedis: a new connection subscribes again, and a closed one ends the subscription", async () => {
  const own = clientOf();
  const client = clientOf({ duplicate: () => Promise.resolve(own) });
  const heard: string[] = [];
  const note = (what: string) => () => void heard.push(what);
  const stop = await bunRedis(client).subscribe!("channel", () => {}, note("back"), note("over"));
  (own.onconnect as () => void)();
  await flushMicrotasks();
  assert.deepEqual(heard, ["back"]);
  (own.onclose as () => void)();
  assert.deepEqual(heard, ["back", "over"]);
  await stop();
  assert.deepEqual([own.onconnect, own.onclose], [null, null]);
});

test("bunRedis: a command that waits for a connection is sent when that is up, and is not sent again over the next one", () => {
  const client = clientOf({ connected: false });
  const backend = bunRedis(client);
  const connect = () => {
    client.connected = true;
    (client.onconnect as () => void)();
  };
  const first = backend.connection!;
  assert.equal(backend.connection, first);
  assert.deepEqual(first, { since: -Infinity });
  const before = performance.now();
  connect();
  const { since } = first;
  assert.ok(since >= before);
  assert.equal(first.heardAt, since);
  assert.equal(backend.connection, first);
  connect(); // a loss that was not noticed
  assert.equal(first.since, since);
  const second = backend.connection!;
  assert.notEqual(second, first);
  client.connected = false; // a loss that was
  const third = backend.connection!;
  connect();
  assert.equal(backend.connection, third);
  assert.ok(third.since >= second.since);
  assert.notEqual(third, second);
});
