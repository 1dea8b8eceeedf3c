/** Subscribed connections that are cut: their waiters are not passed over, and are notified again later. */
import assert from "node:assert/strict";
import { Redis as IoRedis6 } from "ioredis";
import { Redis as IoRedis5 } from "ioredis5";
import { createClient as createClient6 } from "redis";
import { createClient as createClient5 } from "redis5";
import { RedisLock } from "../../lib/redis/mod.ts";
import { type Client, clients, redisTest, until, useIo, useNode } from "../redis/_clients.ts";
import { FaultProxy } from "../redis/faults/_proxy.ts";

for (const client of clients) {
  redisTest(`${client.name}: an unreachable waiter is granted in turn under contention`, async (bench) => {
    const { server, connect } = bench;
    const proxy = await FaultProxy.start(server.port);
    const far = await client.connect(proxy.url);
    try {
      const ours = new RedisLock(far.backend, "a", { ttl: 3000 });
      const theirs = new RedisLock(await connect(), "a", { ttl: 3000 });
      const waiting = (count: number) => until(async () => (await theirs.inspect()).waiters.length === count);
      const first = await theirs.acquire();
      const order: string[] = [];
      const turn = ours.run(() => void order.push("ours"));
      turn.catch(() => {}); // it is awaited below
      await waiting(1);
      proxy.refuse();
      proxy.cut("subscribers");
      let over = false;
      const others = [0, 1].map(async () => {
        while (!over) await theirs.run(() => void order.push("theirs"));
      });
      await waiting(3);
      await first.release();
      await turn;
      over = true;
      await Promise.all(others);
      assert.equal(order[0], "ours");

      if (client.name === "@db/redis (double)") return; // it does not connect again
      const second = await theirs.acquire();
      const again = ours.acquire();
      await waiting(1);
      await proxy.accept();
      await second.release();
      assert.equal(await (await again).release(), true);
    } finally {
      await far.close();
      await proxy[Symbol.asyncDispose]();
    }
  }, { client });
}

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
