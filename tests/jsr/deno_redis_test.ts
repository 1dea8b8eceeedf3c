/** The real jsr:@db/redis: the contract with a RedisLock, push through its second connection, and its failures. */
import { connect } from "@db/redis";
import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { denoRedis, type Lease, RedisError, RedisLock } from "../../lib/redis/mod.ts";
import { contractSuite } from "../contract_suite.ts";
import { until } from "../redis/_clients.ts";
import { Server } from "../redis/_server.ts";
import { Warnings } from "../redis/_warnings.ts";
import { test } from "../_test.ts";

// As the default user: parseURL of @db/redis 0.41.2 takes the user of a URL for the name of the client.
const hostname = "127.0.0.1";

/** Two connections of one process, as `denoRedis` takes them. */
async function connected({ port }: Server) {
  const client = await connect({ hostname, port });
  const subscriber = await connect({ hostname, port });
  const close = () => {
    client.close();
    subscriber.close();
  };
  return { backend: denoRedis(client, subscriber), client, subscriber, close };
}

contractSuite<Lease>({
  name: "RedisLock over the real @db/redis",
  make: async () => {
    const server = await Server.start();
    const { backend, close } = await connected(server);
    const lock = new RedisLock(backend, "lock");
    return {
      lock,
      waiting: async () => (await lock.inspect()).waiters.length,
      close: async () => {
        close();
        await server[Symbol.asyncDispose]();
      },
    };
  },
  short: 300,
  untilQueued: (subject, count) => until(async () => await subject.waiting() === count),
});

test("@db/redis: the same client twice is refused, no second one means heartbeats", async () => {
  await using server = await Server.start();
  const client = await connect({ hostname, port: server.port });
  try {
    assertThrows(() => denoRedis(client, client), TypeError);
    const lock = new RedisLock(denoRedis(client), "orders", { ttl: 1000 });
    const first = await lock.acquire();
    const second = lock.acquire();
    await until(async () => (await lock.inspect()).waiters.length === 1);
    await first.release();
    assert((await second).held);
    await (await second).release();
  } finally {
    client.close();
  }
});

test("@db/redis: leases and waiters outlive a lost connection and a restart of the server", async () => {
  await using server = await Server.start("--appendonly", "yes");
  const { backend, close } = await connected(server);
  try {
    const lock = new RedisLock(backend, "orders", { ttl: 3000 });
    const losses = [
      () => server.send("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"),
      () => server.kill().then(() => server.start()),
    ];
    for (const lose of losses) {
      const held = await lock.acquire();
      const waiting = lock.acquire({ timeout: 10_000 });
      await until(async () => (await lock.inspect()).waiters.length === 1);
      const { expiresAt } = held;
      await lose();
      await until(() => held.expiresAt > expiresAt + 1000); // a renewal after it
      assertEquals(await held.release(), true);
      assertEquals(await (await waiting).release(), true);
    }
  } finally {
    close();
  }
});

test("@db/redis: after the client was closed, calls say so", async () => {
  await using server = await Server.start();
  const { backend, close } = await connected(server);
  const lock = new RedisLock(backend, "orders");
  const held = await lock.acquire();
  close();
  assertEquals(held.held, false);
  await assertRejects(() => held.release(), RedisError, "the client was closed");
  await assertRejects(() => lock.acquire(), RedisError, "the client was closed");
});

test("@db/redis: a missing right to SUBSCRIBE is one warning, and heartbeats do", async () => {
  await using server = await Server.start();
  await server.send("ACL", "SETUSER", "default", "-subscribe");
  const { backend, close } = await connected(server);
  using warnings = new Warnings();
  try {
    const lock = new RedisLock(backend, "orders", { ttl: 600 });
    for (let i = 0; i < 2; i++) {
      const held = await lock.acquire();
      const waiting = lock.acquire();
      await until(async () => (await lock.inspect()).waiters.length === 1);
      assertEquals(await held.release(), true);
      assertEquals(await (await waiting).release(), true);
    }
    assertEquals(warnings.seen.length, 1);
    assertMatch(String(warnings.seen[0]), /SUBSCRIBE/);
  } finally {
    close();
  }
});
