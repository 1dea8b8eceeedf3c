/** The adapter for Bun's client, beyond what all clients are tested for, over a stand-in that every run-time has. */
import assert from "node:assert/strict";
import { bunRedis, type BunRedisClient } from "../../lib/redis/mod.ts";
import { test } from "../_test.ts";

test("bunRedis: commands as Bun wants them, and an onclose that was there is still called", async () => {
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
