/** Failovers: one address, two servers, and connections that stay behind. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { ioRedis, RedisLock } from "../../../lib/redis/mod.ts";
import { bodies, type MakeBody } from "../_bodies.ts";
import { closeIo, connectNode, subscribed, until } from "../_clients.ts";
import { findServer } from "../_find_server.ts";
import { freePort } from "../../_ports.ts";
import { Server } from "../_server.ts";
import { type Harness, type Scenario, TTL } from "./_harness.ts";
import { History } from "./_history.ts";
import { FaultProxy } from "./_proxy.ts";
import type { Kind } from "./_worker.ts";
import { Wire } from "../_wire.ts";

const OPTIONS = { ttl: 3 * TTL };

/** A second server that follows the scenario's own, for as long as `fn` runs. */
async function withReplica(harness: Harness, fn: (replica: Server) => Promise<void>): Promise<void> {
  await using replica = await Server.start("--replicaof", "127.0.0.1", String(harness.server.port));
  await inStep(harness.server);
  await fn(replica);
}

async function inStep(primary: Server): Promise<void> {
  await until(async () => /slave0:.*state=online.*lag=[01]/.test(String(await primary.send("INFO", "replication"))));
}

/** Promotes the replica as an operator does: it has received all writes, and the address now leads to it. */
async function takeOver(harness: Harness, replica: Server, address: FaultProxy): Promise<void> {
  await harness.server.send("WAIT", 1, 1000);
  await replica.send("REPLICAOF", "NO", "ONE");
  await harness.server.send("REPLICAOF", "127.0.0.1", replica.port);
  address.redirect(replica.port);
  await inStep(replica);
}

async function waiters(server: Server, count: number): Promise<void> {
  await until(async () => {
    const [key] = await server.send("KEYS", "interlock:*:queue") as string[];
    return key !== undefined && Number(await server.send("ZCARD", key)) >= count;
  });
}

/**
 * The holder's commands go to the new primary; the waiters stay on the old one, which is a replica now and delivers
 * published messages. Then their commands move, too, and their subscriptions must follow.
 */
async function stuckSubscribers(harness: Harness, make: MakeBody): Promise<void> {
  const address = await FaultProxy.start(harness.server.port);
  const releasing = await connectNode(address.url);
  await withReplica(harness, async (replica) => {
    const history = new History(harness);
    const first = make(releasing.backend, OPTIONS).held;
    const clients = await Promise.all([1, 2, 3].map(() => harness.connect()));
    const others = clients.map(({ backend }) => make(backend, OPTIONS).held);
    const round = async (name: string, server: Server, before?: () => Promise<void>) => {
      const holder = await history.enter(name, first, { timeout: 20_000 });
      const queue: Promise<void>[] = [];
      for (const [i, body] of others.entries()) {
        queue.push(history.visit(`${name} ${i}`, body, { timeout: 20_000 }));
        await waiters(server, i + 1);
      }
      await subscribed(server, others.length);
      await before?.();
      const start = performance.now();
      await history.leave(name, holder);
      if (before !== undefined) {
        harness.proxy.redirect(replica.port);
        harness.proxy.cut("commands");
      }
      await Promise.all(queue);
      return performance.now() - start;
    };
    await round("warm", harness.server);
    await round("taken over", harness.server, async () => {
      await takeOver(harness, replica, address);
      address.cut("all");
    });
    await round("after", replica);
    const took = await round("healed", replica);
    harness.must(took < 500, `three hand-offs took ${Math.round(took)} ms after the subscriptions healed`);
  });
  await releasing.close();
  await address[Symbol.asyncDispose]();
}

/** Workers go on while servers take over from each other, by FAILOVER and by a kill. */
async function workersThrough(
  harness: Harness,
  kind: Kind,
  fail: (replica: Server) => Promise<void>,
): Promise<void> {
  await withReplica(harness, async (replica) => {
    await harness.workers(4, kind);
    await harness.entries(20);
    await fail(replica);
    await harness.recover(20);
    await harness.stop();
    await replica.send("FLUSHALL"); // its keys are no part of the check
  });
}

/** The primary is killed, and its replica takes over. */
export function primaryKilled(harness: Harness, kind: Kind): Promise<void> {
  return workersThrough(harness, kind, async (replica) => {
    await harness.server.kill();
    await replica.send("REPLICAOF", "NO", "ONE");
    harness.proxy.redirect(replica.port);
    await sleep(TTL); // the grants of the old primary expire
    await harness.server.start(); // for the checks at the end
  });
}

/** A Sentinel finds the primary dead and makes its replica the new one; clients that ask the Sentinel follow. */
async function bySentinel(harness: Harness): Promise<void> {
  await withReplica(harness, async (replica) => {
    const port = await freePort();
    const folder = mkdtempSync(join(tmpdir(), "interlock-sentinel-"));
    const monitor = `sentinel monitor orders 127.0.0.1 ${harness.server.port} 1`;
    const times = "sentinel down-after-milliseconds orders 500\nsentinel failover-timeout orders 3000";
    writeFileSync(join(folder, "sentinel.conf"), `port ${port}\nbind 127.0.0.1\ndir ${folder}\n${monitor}\n${times}\n`);
    const sentinel = spawn(findServer()!, [join(folder, "sentinel.conf"), "--sentinel"], { stdio: "ignore" });
    const clients = [1, 2, 3].map(() =>
      new Redis({ sentinels: [{ host: "127.0.0.1", port }], name: "orders", sentinelRetryStrategy: () => 50 })
    );
    for (const client of clients) client.on("error", () => {});
    try {
      const history = new History(harness, Infinity); // the last writes may be missing: only tokens are judged
      let over = false;
      const visits = clients.map(async (client, i) => {
        const lock = new RedisLock(ioRedis(client), "sentinel", { ttl: TTL });
        while (!over) await history.visit(`client ${i}`, lock, { timeout: 20_000 }).catch(() => sleep(20));
      });
      await harness.entries(50);
      const wire = await Wire.connect(port);
      await until(async () => (await wire.send("SENTINEL", "REPLICAS", "orders") as unknown[]).length === 1);
      await wire.close();
      await harness.server.kill();
      // The Sentinel closes the connections of a server that it makes the primary, this one too.
      const role = () => replica.send("INFO", "replication").catch(() => "");
      await until(async () => /role:master/.test(String(await role())));
      await harness.recover(50);
      over = true;
      await Promise.all(visits);
    } finally {
      // A client between two attempts never reports that it has ended.
      for (const client of clients) await Promise.race([closeIo(client), sleep(2000)]);
      process.kill(sentinel.pid!, "SIGKILL");
      rmSync(folder, { recursive: true, force: true });
      await harness.server.start(); // for the checks at the end
    }
  });
}

export const failover: readonly Scenario[] = [
  ...(["lock", "semaphore", "writer"] as const).map((name): Scenario => ({
    name: `a replica takes over, subscribers stay on the old server: ${name}`,
    run: (harness) => stuckSubscribers(harness, bodies[name]),
  })),
  {
    name: "FAILOVER to a replica behind the same address",
    lossy: true,
    run: (harness) =>
      workersThrough(harness, "lock", async (replica) => {
        await harness.server.send("FAILOVER", "TO", "127.0.0.1", replica.port, "TIMEOUT", 2000);
        await until(async () => /role:master/.test(String(await replica.send("INFO", "replication"))));
        harness.proxy.redirect(replica.port);
        harness.proxy.cut("commands");
      }),
  },
  { name: "a Sentinel makes a replica the primary", lossy: true, run: bySentinel },
  {
    name: "the primary is killed, its replica takes over",
    lossy: true, // the last writes may be missing
    run: (harness) => primaryKilled(harness, "lock"),
  },
];
