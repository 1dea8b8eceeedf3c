/** ioredis through a Sentinel: the lock works on the master that the Sentinel names. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { Redis as IoRedis } from "ioredis";
import { ioRedis, RedisLock } from "../../lib/redis/mod.ts";
import { test } from "../_test.ts";
import { closeIo, until } from "../redis/_clients.ts";
import { findServer } from "../redis/_find_server.ts";
import { freePort, Server } from "../redis/_server.ts";

async function sentinel(master: number): Promise<{ port: number; stop: () => Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), "interlock-sentinel-"));
  const port = await freePort();
  const config = join(folder, "sentinel.conf");
  writeFileSync(config, `port ${port}\nbind 127.0.0.1\ndir ${folder}\nsentinel monitor orders 127.0.0.1 ${master} 1\n`);
  const child = spawn(findServer()!, [config, "--sentinel"], { stdio: "ignore" });
  const exited = new Promise((resolve) => child.once("exit", resolve));
  const stop = async () => {
    process.kill(child.pid!, "SIGKILL");
    await exited;
    rmSync(folder, { recursive: true, force: true });
  };
  return { port, stop };
}

test("ioredis through a Sentinel", async () => {
  await using server = await Server.start();
  const { port, stop } = await sentinel(server.port);
  const client = new IoRedis({
    sentinels: [{ host: "127.0.0.1", port }],
    name: "orders",
    sentinelRetryStrategy: () => 50,
  });
  client.on("error", () => {});
  const lock = new RedisLock(ioRedis(client), "a");
  const first = await lock.acquire({ timeout: 20_000 });
  const [second, third] = [lock.acquire(), lock.acquire()];
  await until(async () => (await lock.inspect()).waiters.length === 2);
  await first.release();
  const lease = await second;
  assert.ok(lease.fencingToken > first.fencingToken);
  await lease.release();
  await (await third).release();
  assert.equal(await server.send("EXISTS", "interlock:lock:3:{a}"), 1, "it is the master that holds the key");
  await closeIo(client);
  await stop();
  // ioredis may keep its timer of 2 s for leaving the Sentinel's connection after it is closed: no leak of this module.
  await new Promise((resolve) => setTimeout(resolve, 2_100));
});
