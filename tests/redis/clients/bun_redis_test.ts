/** The adapter for Bun's client, beyond the tests of all clients, over a double that runs in every run-time. */
import assert from "node:assert/strict";
import { bunRedis, type BunRedisClient } from "../../../lib/redis/mod.ts";
import { test } from "../../_test.ts";
import { flushMicrotasks } from "../../_tools.ts";

test("bunRedis: commands in Bun's form, and an existing onclose is still called", async () => {
  const sent: string[][] = [];
  let closes = 0;
  const client: BunRedisClient & { connected: boolean } = {
    send: (command, args) => Promise.resolve(sent.push([command, ...args])),
    duplicate: () => Promise.reject(new Error("not here")),
    subscribe: () => Promise.reject(new Error("not here")),
    close: () => {},
    connected: true,
    onconnect: null,
    onclose: () => closes++,
  };
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

test("bunRedis: each command checks that the subscribed connection is still open", async () => {
  const stub = (): BunRedisClient & { connected: boolean } => ({
    send: () => Promise.resolve("OK"),
    duplicate: () => Promise.resolve(own),
    subscribe: () => Promise.resolve(1),
    close: () => {},
    connected: true,
    onconnect: null,
    onclose: null,
  });
  const own = stub();
  const backend = bunRedis(stub());
  const heard: string[] = [];
  const stop = await backend.subscribe!(
    "channel",
    () => {},
    () => heard.push("back"),
    (forGood) => heard.push(forGood ? "lost for good" : "lost"),
  );
  const command = () => backend.evalsha("sha", [], []);
  await command();
  own.connected = false;
  await command();
  assert.deepEqual(heard, ["lost"]);
  own.connected = true;
  (own.onconnect as () => void)();
  await flushMicrotasks();
  await command();
  assert.deepEqual(heard, ["lost", "back"]);
  (own.onclose as () => void)();
  assert.deepEqual(heard, ["lost", "back", "lost for good"]);
  await stop();
  own.connected = false;
  await command();
  assert.deepEqual([heard.length, own.onconnect, own.onclose], [3, null, null]);
});
