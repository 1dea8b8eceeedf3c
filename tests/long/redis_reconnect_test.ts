/** Subscriptions follow the commands: a new command connection renews the subscription. */
import assert from "node:assert/strict";
import { RedisLock } from "../../lib/redis/mod.ts";
import { clients, redisTest, until } from "../redis/_clients.ts";

for (const client of clients.filter(({ name }) => !name.startsWith("@db"))) {
  redisTest(
    `${client.name}: a new command connection renews the subscription`,
    async ({ server, backend, connect }) => {
      const subscribers = async () => {
        const list = String(await server.send("CLIENT", "LIST", "TYPE", "pubsub"));
        return [...list.matchAll(/^id=(\d+)/gm)].map(([, id]) => id).join();
      };
      const lock = new RedisLock(backend, "a", { ttl: 5000 });
      const other = new RedisLock(await connect(), "a");
      const first = await other.acquire();
      const waiting = lock.acquire();
      await until(async () => await subscribers() !== "");
      const before = await subscribers();
      await server.send("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"); // the subscriber is not cut
      await until(async () => {
        const now = await subscribers();
        return now !== "" && now !== before;
      });
      await first.release();
      assert.equal(await (await waiting).release(), true);
    },
    { client },
  );
}

redisTest("1,000 waiters whose subscription is killed three times ask seldom", async ({ server, backend }) => {
  const COUNT = 1000, HEARTBEAT = 5000;
  const lock = new RedisLock(backend, "a", { ttl: 3 * HEARTBEAT });
  const holder = await lock.acquire();
  const controller = new AbortController();
  const calls = Array.from({ length: COUNT }, () => lock.acquire({ signal: controller.signal }).catch(() => {}));
  const waiting = async () => (await lock.inspect()).waiting === COUNT;
  await until(waiting, 60_000);
  const commands = () => server.calls("evalsha", "eval");
  const before = await commands(), start = performance.now();
  const subscriber = async () =>
    /^id=(\d+).* sub=1/m.exec(String(await server.send("CLIENT", "LIST", "TYPE", "pubsub")))?.[1];
  for (let kills = 0; kills < 3; kills++) {
    let id: string | undefined;
    await until(async () => (id = await subscriber()) !== undefined);
    await server.send("CLIENT", "KILL", "ID", id!);
  }
  await until(async () => await subscriber() !== undefined);
  await until(async () => await commands() - before >= COUNT, 60_000); // they have asked
  await until(waiting, 60_000);
  const [during, heartbeats] = [await commands() - before, Math.ceil((performance.now() - start) / HEARTBEAT)];
  // Once for each kill and each heartbeat; and the holder's renewals, and what this test asks.
  assert.ok(during <= (3 + heartbeats) * COUNT + 100, `${during} commands in ${heartbeats} heartbeats`);
  assert.equal(holder.held, true);
  controller.abort();
  await Promise.all(calls);
  await holder.release();
});
