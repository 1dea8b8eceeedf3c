/** Failovers: one address, two servers, and connections that stay behind. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { ioRedis, RedisLock } from "../../../lib/redis/mod.ts";
import { closeIo, until } from "../_clients.ts";
import { findServer } from "../_find_server.ts";
import { freePort } from "../../_ports.ts";
import { Server } from "../_server.ts";
import { type Harness, type Scenario, TTL } from "./_harness.ts";
import type { Kind } from "./_worker.ts";
import { connectBare } from "../_wire.ts";

/** A second server that follows the scenario's own, for as long as `fn` runs. */
async function withReplica(harness: Harness, fn: (replica: Server) => Promise<void>): Promise<void> {
  const { server } = harness;
  await using replica = await Server.start("--replicaof", "127.0.0.1", String(server.port));
  await until(async () => /slave0:.*state=online.*lag=[01]/.test(String(await server.send("INFO", "replication"))));
  await fn(replica);
}

/** Waits until the replica has become the primary; a Sentinel closes the connections to it meanwhile. */
async function isPrimary(replica: Server): Promise<void> {
  await until(async () => /role:master/.test(String(await replica.send("INFO", "replication").catch(() => ""))));
}

/** Workers go on while a replica takes over. Its keys are no part of the check. */
function workersThrough(
  kind: Kind,
  fail: (harness: Harness, replica: Server) => Promise<unknown>,
): Scenario["run"] {
  return (harness) =>
    withReplica(harness, async (replica) => {
      await harness.workers(4, kind);
      await harness.entries(20);
      await fail(harness, replica);
      await harness.recover(20);
      await harness.stop();
      await replica.send("FLUSHALL");
    });
}

/** The primary is killed, and its replica takes over. */
async function primaryKilled({ server, proxy }: Harness, replica: Server): Promise<void> {
  await server.kill();
  await replica.send("REPLICAOF", "NO", "ONE");
  proxy.redirect(replica.port);
  await sleep(TTL); // the grants of the old primary expire
  await server.start(); // for the checks at the end
}

/** Acquires and releases until `over`, and judges the tokens: the last writes may be missing. */
async function visits(harness: Harness, lock: RedisLock, tokens: Set<number>, over: () => boolean): Promise<void> {
  while (!over()) {
    await lock.run(({ fencingToken }) => {
      harness.figures.acquisitions++;
      harness.must(!tokens.has(fencingToken), `the token ${fencingToken} was given twice`);
      tokens.add(fencingToken);
    }, { timeout: 20_000 }).catch(() => sleep(20));
  }
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
      const tokens = new Set<number>();
      let over = false;
      const loops = clients.map((client) =>
        visits(harness, new RedisLock(ioRedis(client), "sentinel", { ttl: TTL }), tokens, () => over)
      );
      await harness.entries(50);
      const asking = await connectBare(port);
      await until(async () => (await asking.call("SENTINEL", "REPLICAS", "orders") as unknown[]).length === 1);
      await closeIo(asking);
      await harness.server.kill();
      await isPrimary(replica);
      await harness.recover(50);
      over = true;
      await Promise.all(loops);
    } finally {
      // A client between two attempts never reports that it has ended.
      for (const client of clients) await Promise.race([closeIo(client), sleep(2000)]);
      process.kill(sentinel.pid!, "SIGKILL");
      rmSync(folder, { recursive: true, force: true });
      await harness.server.start(); // for the checks at the end
    }
  });
}

/** All but FAILOVER, which waits for the replica, may lose the last writes. */
export const failover: readonly Scenario[] = [
  {
    name: "FAILOVER to a replica behind the same address, subscribers stay on the old server",
    run: workersThrough("lock", async ({ server, proxy }, replica) => {
      await server.send("FAILOVER", "TO", "127.0.0.1", replica.port, "TIMEOUT", 2000);
      await isPrimary(replica);
      proxy.redirect(replica.port);
      proxy.cut("commands");
    }),
  },
  { name: "a Sentinel makes a replica the primary", lossy: true, run: bySentinel },
  ...(["lock", "starter"] as const).map((kind): Scenario => ({
    name: `the primary is killed, its replica takes over: ${kind}`,
    lossy: true,
    run: workersThrough(kind, primaryKilled),
  })),
];
