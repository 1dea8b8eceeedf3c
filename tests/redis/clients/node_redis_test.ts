/** The adapter for node-redis, beyond the tests of all clients. */
import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { createClient, createClientPool, createCluster } from "redis";
import { nodeRedis, RedisLock } from "../../../lib/redis/mod.ts";
import { test } from "../../_test.ts";
import { type Client, ending, redisTest, until, useNode } from "../_clients.ts";
import { Server } from "../_server.ts";
import { keepsListeners, knowsSubscriberFailure, subscribe, works } from "./_doubles.ts";

test("nodeRedis: the same client gives the same backend; a cluster is recognized", () => {
  const client = createClient();
  assert.equal(nodeRedis(client), nodeRedis(client));
  assert.equal(nodeRedis(client).closed, true); // it was never connected
  assert.equal(nodeRedis(client).cluster, false);
  assert.equal(nodeRedis(createCluster({ rootNodes: [] })).cluster, true);
});

test("nodeRedis: a cluster's subscription that has ended keeps no listener", async () => {
  const commands = { evalSha: works, eval: works, subscribe: works, unsubscribe: works };
  const cluster = Object.assign(new EventEmitter(), { ...commands, destroy: works, masters: [], isOpen: true });
  const backend = nodeRedis(cluster);
  await keepsListeners(cluster, async () => await (await subscribe(backend))());
});

/** Counts the signals with a time-out that `fn` makes. */
async function countTimeouts(fn: () => Promise<unknown>): Promise<number> {
  const real = AbortSignal.timeout;
  let made = 0;
  AbortSignal.timeout = (ms) => (made++, real.call(AbortSignal, ms));
  try {
    await fn();
  } finally {
    AbortSignal.timeout = real;
  }
  return made;
}

for (const [timeout, made] of [[undefined, 0], [4000, 1]] as const) {
  const commandOptions = timeout === undefined ? {} : { timeout };
  const client: Client = { name: "redis", connect: (url) => useNode(createClient({ url, commandOptions })) };
  redisTest(
    `nodeRedis: with a timeout of ${timeout}, a command that is sent at once makes ${made} signals`,
    async ({ backend }) => {
      assert.equal(await countTimeouts(() => backend.eval("return 1", [], [])), made);
    },
    { client },
  );
}

test("nodeRedis: a connection that failed and is back is no cause of later errors, also of a pool", async () => {
  await using server = await Server.start();
  const pool = createClientPool({ url: server.url, socket: { reconnectStrategy: 20 } }, { maximum: 1 });
  await using _ = ending(() => pool.destroy());
  let failures = 0;
  pool.on("error", () => failures++);
  await pool.connect();
  const backend = nodeRedis(pool, { push: false });
  const lock = new RedisLock(backend, "orders", { ttl: 3000 });
  await lock.run(() => {});
  await server.kill();
  await until(() => failures > 0);
  assert.notEqual(backend.failure, undefined);
  await server.start();
  // Another connection of the pool may fail once more after the first one is back.
  await until(() => lock.run(() => backend.failure === undefined));
});

test("nodeRedis: the failure of a subscribing connection is known until it is back", async () => {
  const members = { isOpen: true, isReady: true, connect: works, subscribe: works, destroy: () => {} };
  const own = Object.assign(new EventEmitter(), members);
  const client = Object.assign(new EventEmitter(), { ...members, evalSha: works, eval: works, duplicate: () => own });
  await knowsSubscriberFailure(nodeRedis(client), own);
});
