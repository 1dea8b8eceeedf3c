/** A push is a hint: a publisher that knows everything but the ids makes no waiter hold. */
import assert from "node:assert/strict";
import { RedisLock } from "../../lib/redis/mod.ts";
import { leakWarnings } from "../_warnings.ts";
import { redisTest, subscribed, until } from "./_clients.ts";

redisTest("a publisher without the ids makes no waiter hold", async ({ server, backend }) => {
  const lock = new RedisLock(backend, "a", { prefix: "tenant:" });
  const held = await lock.acquire();
  const waiting = lock.acquire();
  await until(async () => (await lock.inspect()).waiting === 1);
  await until(async () => (await server.send("PUBSUB", "CHANNELS", "tenant:*") as string[]).length === 1);
  await subscribed(server, 0);
  const [channel] = await server.send("PUBSUB", "CHANNELS", "*") as [string];
  assert.match(channel, /^tenant:push:[0-9a-z]{8}$/);
  const process = channel.slice("tenant:push:".length);
  const time = `${Date.now()}000`;
  for (let i = 0; i < 300; i++) {
    const id = process + i.toString(36).padStart(13, "0");
    for (const fence of [time, "9007199254740990", "NaN", "Infinity", "-1"]) {
      await server.send("PUBLISH", channel, `${id} ${fence} ${time}`);
    }
  }
  // Also with the id, which takes the right to the keys: a token that is none, or not above the last one, is ignored.
  const { id } = (await lock.inspect()).waiters[0]!;
  for (const fence of ["9007199254740992", "NaN", "Infinity", "-1", String(held.fencingToken)]) {
    await server.send("PUBLISH", channel, `${id} ${fence} ${time}`);
  }
  let granted = false;
  void waiting.then(() => granted = true);
  assert.deepEqual([await held.verify(), granted], [true, false]);
  await held.release();
  const lease = await waiting;
  assert.ok(lease.fencingToken > held.fencingToken);
  assert.ok(Number.isSafeInteger(lease.fencingToken));
  await lease.release();
});

redisTest("ids have a part that no channel shows", async ({ backend, connect }) => {
  const ids = new Set<string>();
  for (const client of [backend, await connect()]) {
    const lock = new RedisLock(client, "a");
    for (let i = 0; i < 20; i++) {
      const lease = await lock.acquire();
      assert.match(lease.id, /^[0-9a-z]{21}$/);
      ids.add(lease.id);
      await lease.release();
    }
  }
  assert.equal(ids.size, 40);
  assert.equal(new Set([...ids].map((id) => id.slice(0, 16))).size, 2);
});

redisTest("many prefixes over one client are no leak to Node", async ({ server, backend }) => {
  const channels = async () => (await server.send("PUBSUB", "CHANNELS", "tenant*") as string[]).length;
  const warnings = await leakWarnings(async () => {
    const locks = Array.from({ length: 12 }, (_, i) => new RedisLock(backend, "a", { prefix: `tenant${i}:` }));
    const leases = await Promise.all(locks.map((lock) => lock.acquire()));
    const waiting = locks.map((lock) => lock.acquire());
    await until(async () => await channels() === 12);
    for (const lease of leases) await lease.release();
    for (const lease of await Promise.all(waiting)) await lease.release();
    await until(async () => await channels() === 0);
  });
  assert.deepEqual(warnings, []);
});
