/** A cluster of three nodes, and clients of both libraries. */
import { Cluster } from "ioredis";
import { createCluster } from "redis";
import { type Backend, ioRedis, nodeRedis } from "../../lib/redis/mod.ts";
import { closeIo, ending, until } from "./_clients.ts";
import { slotOf } from "./_slots.ts";
import { freePort } from "../_ports.ts";
import { Server } from "./_server.ts";

/** The first slot of each node, and the end. */
const SLOTS = [0, 5461, 10923, 16384];

/** The number of the node that has a slot at first. */
export function nodeOf(slot: number): number {
  return SLOTS.findIndex((end) => slot < end) - 1;
}

/** A node. It also listens on its port plus 10,000, which no version before 7.0 can change; both must be free. */
async function startNode(): Promise<Server> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = 10_000 + Math.floor(Math.random() * 12_000); // both stay below the ports that the system hands out
    const free = await Promise.all([freePort(port), freePort(port + 10_000)]).then(() => true, () => false);
    if (free) return await Server.startAt(port, "--cluster-enabled", "yes");
  }
  throw new Error("no two free ports that are 10,000 apart");
}

/** Starts nodes one after the other; those that did are in `nodes`, even if the next one fails. */
async function startCluster(nodes: Server[]): Promise<void> {
  while (nodes.length < 3) nodes.push(await startNode());
  for (const [i, node] of nodes.entries()) {
    await node.send("CLUSTER", "SET-CONFIG-EPOCH", i + 1);
    const slots = Array.from({ length: SLOTS[i + 1]! - SLOTS[i]! }, (_, slot) => SLOTS[i]! + slot);
    await node.send("CLUSTER", "ADDSLOTS", ...slots);
  }
  for (const node of nodes.slice(1)) await node.send("CLUSTER", "MEET", "127.0.0.1", nodes[0]!.port);
  for (const node of nodes) {
    await until(async () => {
      const info = String(await node.send("CLUSTER", "INFO"));
      return info.includes("cluster_state:ok") && info.includes("cluster_known_nodes:3");
    });
  }
}

/** Adds a replica of each node, and waits until it has the data. */
export async function addReplicas(nodes: readonly Server[]): Promise<Server[]> {
  const replicas: Server[] = [];
  for (const node of nodes) {
    const replica = await startNode();
    replicas.push(replica);
    await replica.send("CLUSTER", "MEET", "127.0.0.1", node.port);
    const id = String(await node.send("CLUSTER", "MYID"));
    await until(async () => String(await replica.send("CLUSTER", "NODES")).includes(id));
    await until(() => replica.send("CLUSTER", "REPLICATE", id).then(() => true, () => false));
  }
  for (const replica of replicas) {
    await until(async () => /master_link_status:up/.test(String(await replica.send("INFO", "replication"))));
  }
  return replicas;
}

/** Calls `fn` with a client of ioredis, one of node-redis, and the nodes. */
export async function inCluster(fn: (backends: Backend[], nodes: Server[]) => Promise<void>): Promise<void> {
  const nodes: Server[] = [];
  await using _nodes = ending(() => Promise.all(nodes.map((one) => one[Symbol.asyncDispose]())));
  await startCluster(nodes);
  const io = new Cluster(nodes.map(({ port }) => ({ host: "127.0.0.1", port })));
  await using _io = ending(() => closeIo(io));
  io.on("error", () => {});
  const node = createCluster({ rootNodes: nodes.map(({ url }) => ({ url })) });
  node.on("error", () => {});
  await node.connect();
  await using _node = ending(() => node.destroy());
  await fn([ioRedis(io), nodeRedis(node)], nodes);
}

/** `count` names on each node. */
export function namesOnEach(count: number): string[] {
  const left = [count, count, count];
  const names: string[] = [];
  for (let i = 0; names.length < 3 * count; i++) {
    if (left[nodeOf(slotOf(`{${i}}`))]!-- > 0) names.push(`${i}`);
  }
  return names;
}
