/** Three nodes of a cluster, through the cluster clients of both libraries. */
import assert from "node:assert/strict";
import { Cluster } from "ioredis";
import { createCluster } from "redis";
import { type Backend, ioRedis, nodeRedis, RedisLock, RedisRwLock, RedisSemaphore } from "../../lib/redis/mod.ts";
import { test } from "../_test.ts";
import { closeIo, until } from "../redis/_clients.ts";
import { freePort, Server } from "../redis/_server.ts";

/** A node. It also listens on its port plus 10,000, which no version before 7.0 can change; both must be free. */
async function startNode(): Promise<Server> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = 10_000 + Math.floor(Math.random() * 12_000); // both stay below the ports that the system hands out
    const free = await Promise.all([freePort(port), freePort(port + 10_000)]).then(() => true, () => false);
    if (free) return await Server.startAt(port, "--cluster-enabled", "yes", "--cluster-node-timeout", "2000");
  }
  throw new Error("no two free ports that are 10,000 apart");
}

async function startCluster(): Promise<Server[]> {
  const nodes = [await startNode(), await startNode(), await startNode()];
  const ends = [0, 5461, 10923, 16384];
  for (const [i, node] of nodes.entries()) {
    await node.send("CLUSTER", "SET-CONFIG-EPOCH", i + 1);
    const slots = Array.from({ length: ends[i + 1]! - ends[i]! }, (_, slot) => ends[i]! + slot);
    await node.send("CLUSTER", "ADDSLOTS", ...slots);
  }
  for (const node of nodes.slice(1)) await node.send("CLUSTER", "MEET", "127.0.0.1", nodes[0]!.port);
  for (const node of nodes) {
    await until(async () => {
      const info = String(await node.send("CLUSTER", "INFO"));
      return info.includes("cluster_state:ok") && info.includes("cluster_known_nodes:3");
    });
  }
  return nodes;
}

/** The operations of each class, with names on all nodes. */
async function works(backends: Backend[]): Promise<void> {
  const names = Array.from({ length: 12 }, (_, i) => `name ${i}`);
  await Promise.all(names.map(async (name) => {
    const [here, there] = backends.map((backend) => new RedisLock(backend, name, { ttl: 1500 }));
    const first = await here!.acquire({ timeout: 10_000 });
    const { expiresAt } = first;
    const second = there!.acquire({ timeout: 10_000 });
    await until(async () => (await here!.inspect()).waiters.length === 1);
    await until(() => first.expiresAt > expiresAt + 500); // renewed, though no two names are in one command
    assert.equal(await first.release(), true);
    const lease = await second;
    assert.ok(lease.fencingToken > first.fencingToken);
    await lease.release();
    await new RedisSemaphore(backends[0]!, name, 2).run(() => {}, { permits: 2 });
    await new RedisRwLock(backends[1]!, name).writer.run(() => {});
  }));
}

test("a cluster, through ioredis and node-redis", async () => {
  const nodes = await startCluster();
  const io = new Cluster(nodes.map(({ port }) => ({ host: "127.0.0.1", port })));
  io.on("error", () => {});
  const node = createCluster({ rootNodes: nodes.map(({ url }) => ({ url })) });
  node.on("error", () => {});
  await node.connect();
  try {
    await works([ioRedis(io), nodeRedis(node)]);
  } finally {
    node.destroy();
    await closeIo(io);
    for (const one of nodes) await one[Symbol.asyncDispose]();
  }
});
