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
      /^INTERLOCK_REDIS_SUBSCRIPTION: The subscription of this client \((npm:redis|npm:ioredis|Bun \(RedisClient\))\) cannot be opened: (ERR max number of clients|the server has not confirmed it|.*(EPIPE|ECONNRESET|Connection closed))/,
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

/** The warnings of a wait of `ms`, and of its end. */
async function warned(subscribe: NonNullable<Backend["subscribe"]>, ttl = 3000, ms = 5000): Promise<string[]> {
  using warnings = new Warnings();
  await withFakeTime(async (time) => {
    const controller = new AbortController();
    const { signal } = controller;
    const call = assert.rejects(new RedisLock(queued(subscribe), "orders", { ttl }).acquire({ signal }));
    await flushMicrotasks();
    await time.pass(ms, 50);
    controller.abort();
    await call;
    await time.pass(5000, 50);
  });
  return warnings.seen;
}

test("a subscription that is never confirmed is a warning, too", async () => {
  const seen = await warned(() => new Promise(() => {}));
  assert.equal(seen.length, 1);
  assert.match(seen[0]!, /cannot be opened: the server has not confirmed it/);
});

test("a subscription that is not confirmed within a heartbeat is a warning soon after it", async () => {
  const never = () => new Promise<never>(() => {});
  assert.deepEqual(await warned(never, 30_000, 9900), []);
  assert.equal((await warned(never, 30_000, 10_600)).length, 1);
});

test("a subscription that is confirmed late is none", async () => {
  assert.deepEqual(
    await warned(() => new Promise((resolve) => setTimeout(() => resolve(() => {}), 500))),
    [],
  );
});

test("a subscription that is confirmed within a busy second is no warning, and the next failure after it is one", async () => {
  using warnings = new Warnings();
  await withFakeTime(async (time) => {
    let confirm = (_: () => void) => {};
    let end: (() => void) | undefined;
    let fails = false;
    const subscribe: NonNullable<Backend["subscribe"]> = (_channel, _onMessage, _onGap, onEnd) => {
      end = onEnd;
      return fails ? Promise.reject(new Error("down")) : new Promise((resolve) => confirm = resolve);
    };
    const controller = new AbortController();
    const lock = new RedisLock(queued(subscribe), "orders", { ttl: 3000 });
    const call = assert.rejects(lock.acquire({ signal: controller.signal }));
    await flushMicrotasks();
    for (let i = 0; i < 2; i++) {
      fails = false;
      time.block(1500); // a heartbeat is answered before the confirmation is read
      await flushMicrotasks();
      assert.equal(warnings.seen.length, i);
      confirm(() => {});
      await time.pass(100);
      fails = true;
      end!();
      await time.pass(4000, 50);
      assert.equal(warnings.seen.length, i + 1);
      fails = false;
      await time.pass(1000, 50);
    }
    controller.abort();
    await call;
    await time.pass(5000, 50);
  });
});
