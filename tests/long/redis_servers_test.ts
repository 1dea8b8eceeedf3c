/** Servers that refuse, are absent, or do not reply: clear errors with a cause, within the time-out. */
import assert from "node:assert/strict";
import { createServer, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { Redis as IoRedis } from "ioredis";
import { createClient } from "redis";
import {
  type Backend,
  ioRedis,
  type Lease,
  nodeRedis,
  RedisError,
  RedisLock,
  RedisSemaphore,
  TimeoutError,
} from "../../lib/redis/mod.ts";
import { PASSWORD } from "../_secrets.ts";
import { test } from "../_test.ts";
import { closeIo, connectNode, ending, noPushClient, redisTest, type Setup, until } from "../redis/_clients.ts";
import { freePort } from "../redis/_server.ts";
import { Warnings } from "../redis/_warnings.ts";

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

for (const refusal of ["LOADING Redis is loading the dataset in memory", "BUSY Redis is busy running a script"]) {
  test(`a server that answers ${refusal.split(" ")[0]}`, async () => {
    const { port, stop } = await answering(`-${refusal}\r\n`);
    const client = new IoRedis(port, "127.0.0.1", { enableReadyCheck: false, maxRetriesPerRequest: 0 });
    client.on("error", () => {});
    await using _ = ending(() => closeIo(client).then(stop));
    const lock = new RedisLock(ioRedis(client), "a", { ttl: 1000 });
    await assert.rejects(lock.acquire({ timeout: 1000 }), clear(new RegExp(refusal.split(" ")[0]!)));
    await assert.rejects(lock.tryAcquire(), clear(new RegExp(refusal.split(" ")[0]!)));
  });
}

test("a server that is not Redis", async () => {
  const { port, stop } = await answering("HTTP/1.1 400 Bad Request\r\n\r\n");
  const client = new IoRedis(port, "127.0.0.1", { enableReadyCheck: false, maxRetriesPerRequest: 0 });
  client.on("error", () => {});
  await using _ = ending(() => (client.disconnect(), stop()));
  const lock = new RedisLock(ioRedis(client), "a", { ttl: 1000 });
  await assert.rejects(lock.acquire({ timeout: 1000 }), clear(/^Cannot acquire lock "a"/));
  await assert.rejects(lock.tryAcquire(), clear(/^Cannot acquire lock "a"/));
});

/** The message of the error or of its cause matches, and there is a cause. */
function clear(text: RegExp): (error: Error) => boolean {
  return (error) => {
    assert.ok(error instanceof RedisError || error instanceof TimeoutError, String(error));
    assert.ok(error.cause, "no cause");
    assert.match(`${error.message}\n${error.cause}`, text);
    return true;
  };
}

/** A server that sends every command the same reply. */
async function answering(answer: string): Promise<{ port: number; stop: () => Promise<void> }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    let [text, answered] = ["", 0];
    socket.on("error", () => {}).on("data", (chunk) => {
      text += chunk;
      // A command begins with the number of its parts; several may come together, or one in pieces.
      const asked = text.match(/^\*\d+\r$/gm)?.length ?? 0;
      socket.write(answer.repeat(asked - answered));
      answered = asked;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const stop = async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
  return { port: (server.address() as AddressInfo).port, stop };
}

redisTest("NOAUTH", async ({ server, connect }) => {
  await server.send("CONFIG", "SET", "requirepass", PASSWORD);
  const backend = await connect(noPushClient);
  const lock = new RedisLock(backend, "a");
  await fails(lock.acquire({ timeout: 3000 }), RedisError, /Redis asks for a password \(NOAUTH/);
  await fails(lock.tryAcquire(), RedisError, /NOAUTH/);
}, { isAlone: true });

/** A client of a user with these rights, closed with the test. */
async function asUser({ server, connect }: Setup, ...rights: string[]): Promise<Backend> {
  await server.send("ACL", "SETUSER", "weak", "on", `>${PASSWORD}`, ...rights);
  return connect({ name: "weak", connect: () => connectNode(server.urlAs("weak")) });
}

redisTest("NOPERM", async (bench) => {
  const backend = await asUser(bench, "+@all", "resetkeys", "~other:*", "resetchannels");
  const text = /this Redis user may not use the keys of this name, "interlock:lock:3:\{a\}" \(NOPERM/;
  await fails(new RedisLock(backend, "a").acquire(), RedisError, text);
});

redisTest("no right to subscribe: heartbeats, reported once", async (bench) => {
  const backend = await asUser(bench, "+@all", "allkeys", "resetchannels");
  using warnings = new Warnings();
  const lock = new RedisLock(backend, "a", { ttl: 5000 });
  const holding = [await lock.acquire()];
  const waiting = [lock.acquire(), lock.acquire()];
  await until(async () => (await lock.inspect()).waiters.length === 2);
  for (const next of waiting) {
    await holding.pop()!.release();
    holding.push(await next);
  }
  await holding.pop()!.release();
  assert.equal(warnings.seen.length, 1);
  assert.match(
    warnings.seen[0]!,
    /: The Redis user of this client \(createClient of npm:redis\) may not (SUBSCRIBE|PUBLISH)/,
  );
});

redisTest(
  "out of memory: held leases are renewed and handed off, new ones are rejected",
  async ({ server, backend }) => {
    const bodies = [new RedisLock(backend, "a", { ttl: 3000 }), new RedisSemaphore(backend, "a", 1, { ttl: 3000 })];
    const held: { lease: Lease; next: Promise<Lease> }[] = [];
    for (const body of bodies) {
      held.push({ lease: await body.acquire(), next: body.acquire() });
      await until(async () => (await body.inspect()).waiters.length === 1);
    }
    const lonely = await new RedisLock(backend, "lonely").acquire();
    await server.send("CONFIG", "SET", "maxmemory", "1");
    await fails(new RedisLock(backend, "b").acquire(), RedisError, /out of memory \(maxmemory\).*OOM/);
    await fails(new RedisSemaphore(backend, "b", 2).tryAcquire(), RedisError, /out of memory/);
    await lonely.extend(5000);
    assert.equal(await lonely.release(), true);
    for (const { lease, next } of held) {
      const { expiresAt } = lease;
      await until(() => lease.expiresAt > expiresAt + 1000); // heartbeats of the waiters go on, too
      assert.equal(await lease.release(), true);
      assert.equal(await (await next).release(), true);
    }
  },
  { isAlone: true },
);

redisTest("READONLY", async ({ server, backend }) => {
  await server.send("REPLICAOF", "127.0.0.1", await freePort());
  const lock = new RedisLock(backend, "a", { ttl: 1000 });
  await fails(lock.tryAcquire(), RedisError, /read-only replica \(READONLY/);
  await fails(lock.acquire(), RedisError, /read-only replica/);
  const waiting = lock.acquire({ timeout: 60_000 });
  await fails(lock.acquire({ timeout: 1000 }), TimeoutError, /1000 ms/);
  await server.send("REPLICAOF", "NO", "ONE");
  await (await waiting).release();
}, { isAlone: true });

redisTest("a key that belongs to something else", async ({ server, backend }) => {
  await server.send("RPUSH", "interlock:lock:3:{a}", "x");
  await fails(
    new RedisLock(backend, "a").acquire(),
    RedisError,
    /something else uses the key "interlock:lock:3:\{a\}"/,
  );
});

redisTest("a server that comes back within the time-out", async ({ server, backend }) => {
  const lock = new RedisLock(backend, "a");
  await (await lock.acquire()).release();
  await server.kill();
  const waiting = lock.acquire({ timeout: 60_000 });
  await server.start();
  assert.equal(await (await waiting).release(), true);
}, { isAlone: true });
