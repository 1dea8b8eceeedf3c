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
