/** Subscribed connections that end for good: their waiters are notified again later. */
import assert from "node:assert/strict";
import { Redis as IoRedis6 } from "ioredis";
import { Redis as IoRedis5 } from "ioredis5";
import { createClient as createClient6 } from "redis";
import { createClient as createClient5 } from "redis5";
import { RedisLock } from "../../lib/redis/mod.ts";
import { type Client, redisTest, until, useIo, useNode } from "../redis/_clients.ts";

/** Clients that never reconnect, by their settings. */
const noRetry = { lazyConnect: true, retryStrategy: () => null };
const noReconnection = { socket: { reconnectStrategy: false } } as const;
const once: readonly Client[] = [
  { name: "redis 6", connect: (url) => useNode(createClient6({ url, ...noReconnection })) },
  { name: "redis 5", connect: (url) => useNode(createClient5({ url, ...noReconnection })) },
  { name: "ioredis 6", connect: (url) => useIo(new IoRedis6(url, noRetry)) },
  { name: "ioredis 5", connect: (url) => useIo(new IoRedis5(url, noRetry)) },
];

for (const client of once) {
  redisTest(
    `${client.name}: a subscription that has ended is renewed for queued calls`,
    async ({ server, backend }) => {
      let isOver = false;
      await backend.subscribe!("channel", () => {}, () => {}, () => void (isOver = true));
      const lock = new RedisLock(backend, "a", { ttl: 3000 });
      const first = await lock.acquire();
      const second = lock.acquire();
      const listening = (count: number) =>
        until(async () => {
          const list = String(await server.send("CLIENT", "LIST", "TYPE", "pubsub"));
          return list.split("\n").filter(Boolean).length === count;
        });
      await listening(2);
      await server.send("CLIENT", "KILL", "TYPE", "pubsub");
      await listening(1);
      await until(() => isOver);
      await first.release();
      assert.equal(await (await second).release(), true);
    },
    { client },
  );
}
