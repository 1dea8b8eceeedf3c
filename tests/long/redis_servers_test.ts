/** Servers that refuse, are absent, or do not reply: clear errors with a cause, within the time-out. */
import assert from "node:assert/strict";
import { createServer, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { Redis as IoRedis } from "ioredis";
import { createClient } from "redis";
import { type Backend, ioRedis, nodeRedis, RedisError, RedisLock, TimeoutError } from "../../lib/redis/mod.ts";
import { test } from "../_test.ts";
import { closeIo, ending, redisTest, until } from "../redis/_clients.ts";
import { freePort } from "../_ports.ts";

/** Asserts that the call fails with this error, which has a cause, within a time. */
async function fails(call: Promise<unknown>, type: typeof RedisError | typeof TimeoutError, text: RegExp, ms = 30_000) {
  const startedAt = performance.now();
  await assert.rejects(call, (error: Error) => {
    assert.ok(error instanceof type, String(error));
    assert.match(error.message, text);
    assert.ok(error.cause, "no cause");
    return true;
  });
  assert.ok(performance.now() - startedAt < ms, `took ${performance.now() - startedAt} ms`);
}

/** Every kind of call, to a server that cannot be reached. */
async function unreachable(backend: Backend, code?: string): Promise<void> {
  const lock = new RedisLock(backend, "a", { ttl: 1000 });
  await fails(lock.acquire({ timeout: 1000 }), TimeoutError, /^Cannot acquire lock "a": timed out after 1000 ms/);
  await fails(lock.acquire({ timeout: 0 }), TimeoutError, /0 ms/);
  await fails(lock.acquire(), RedisError, /^Cannot acquire lock "a": /);
  await fails(lock.tryAcquire(), RedisError, /^Cannot acquire lock "a": /);
  for (const options of code === undefined ? [] : [{ timeout: 1000 }, { timeout: 0 }, undefined]) {
    await assert.rejects(lock.acquire(options), (error: Error) => (error.cause as { code?: string }).code === code);
  }
  const controller = new AbortController();
  const waiting = lock.acquire({ signal: controller.signal });
  waiting.catch(() => {});
  await lock.acquire({ timeout: 1200 }).catch(() => {}); // longer than a ttl
  controller.abort();
  await assert.rejects(waiting, (error) => error === controller.signal.reason);
}

test("node-redis and a port that no process listens on", async () => {
  const client = createClient({ url: `redis://127.0.0.1:${await freePort()}` });
  client.on("error", () => {});
  const connecting = client.connect().catch(() => {});
  await using _ = ending(() => (client.destroy(), connecting));
  await unreachable(nodeRedis(client), "ECONNREFUSED");
});

test("ioredis and a port that no process listens on", async () => {
  let wanted = true;
  const retryStrategy = () => wanted ? 20 : null;
  const client = new IoRedis(await freePort(), "127.0.0.1", { maxRetriesPerRequest: 1, retryStrategy });
  client.on("error", () => {});
  await using _ = ending(() => {
    wanted = false; // it never reports that it is closed if disconnect() comes between two attempts
    return until(() => client.status === "end");
  });
  await unreachable(ioRedis(client), "ECONNREFUSED");
});

test("a server that accepts everything and never replies", async () => {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => void sockets.add(socket.on("error", () => {}).resume()));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const client = new IoRedis((server.address() as AddressInfo).port, "127.0.0.1", { enableReadyCheck: false });
  client.on("error", () => {});
  await using _ = ending(async () => {
    await closeIo(client);
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  await unreachable(ioRedis(client));
});

redisTest("a stopped server: the call ends in time, and releases its state afterwards", async (bench) => {
  const { server, backend } = bench;
  const lock = new RedisLock(backend, "a");
  await (await lock.acquire()).release();
  server.pause();
  await fails(lock.acquire({ timeout: 1000 }), TimeoutError, /timed out after 1000 ms/);
  server.resume();
  await until(async () => (await lock.inspect()).holders.length === 0);
  await (await lock.acquire({ timeout: 60_000 })).release();
}, { isAlone: true });
