/** A subscription that cannot be opened: hand-offs by heartbeats, and one warning with the reason. */
import assert from "node:assert/strict";
import { type Backend, RedisLock } from "../../lib/redis/mod.ts";
import { test } from "../_test.ts";
import { flushMicrotasks, withFakeTime } from "../_tools.ts";
import { clients, redisTest, subscribed, until } from "./_clients.ts";
import { computeDigests, queuedReply, scripted } from "./_scripted.ts";
import { Warnings } from "./_warnings.ts";

await computeDigests();

for (const client of clients.filter(({ name }) => !name.includes("double"))) {
  redisTest(`${client.name}: a subscription refused by maxclients is a warning within a heartbeat`, async (setup) => {
    using warnings = new Warnings();
    const { server, backend } = setup;
    const clients = String(await server.send("INFO", "clients"));
    await server.send("CONFIG", "SET", "maxclients", /connected_clients:(\d+)/.exec(clients)![1]!);
    const lock = new RedisLock(backend, "orders", { ttl: 3000 });
    const lease = await lock.acquire();
    const waiting = lock.acquire();
    waiting.catch(() => {});
    await until(() => warnings.seen.length > 0);
    assert.match(
      warnings.seen[0]!,
      /^INTERLOCK_REDIS_SUBSCRIPTION: The subscription of this client \((createClient of npm:redis|npm:ioredis|Bun \(RedisClient\))\) cannot be opened: (ERR max number of clients|the server has not confirmed it|.*(EPIPE|ECONNRESET|Connection closed))/,
    );
    await server.send("CONFIG", "SET", "maxclients", "100");
    await subscribed(server, 1); // a pause between two attempts of a client cannot be ended
    await lease.release();
    await (await waiting).release();
    assert.equal(warnings.seen.length, 1);
  }, { client, isAlone: true });
}

/** A server on which the call waits, with that subscription. */
function queued(subscribe: NonNullable<Backend["subscribe"]>): Backend {
  return { ...scripted((command) => command === "acquire" ? queuedReply() : undefined), subscribe };
}

async function warned(subscribe: NonNullable<Backend["subscribe"]>): Promise<string[]> {
  using warnings = new Warnings();
  await withFakeTime(async (time) => {
    const controller = new AbortController();
    const { signal } = controller;
    const call = assert.rejects(new RedisLock(queued(subscribe), "orders", { ttl: 3000 }).acquire({ signal }));
    await flushMicrotasks();
    await time.pass(5000, 50);
    controller.abort();
    await call;
    await time.pass(5000, 50);
  });
  return warnings.seen;
}

test("a subscription that fails again and again is one warning, with its error", async () => {
  const seen = await warned(() => Promise.reject(new Error("connect ETIMEDOUT")));
  assert.equal(seen.length, 1);
  assert.match(seen[0]!, /cannot be opened: connect ETIMEDOUT\. Meanwhile waiters find out by heartbeats/);
});

test("a subscription that is never confirmed is a warning, too", async () => {
  const seen = await warned(() => new Promise(() => {}));
  assert.equal(seen.length, 1);
  assert.match(seen[0]!, /cannot be opened: the server has not confirmed it/);
});

test("a subscription that is confirmed late is none", async () => {
  assert.deepEqual(
    await warned(() => new Promise((resolve) => setTimeout(() => resolve(() => {}), 500))),
    [],
  );
});
