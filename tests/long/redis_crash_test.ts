/** A waiter that receives no messages: it notices, and until then it is served by heartbeats. */
import assert from "node:assert/strict";
import { RedisLock } from "../../lib/redis/mod.ts";
import { clients, redisTest, until } from "../redis/_clients.ts";
import { Server } from "../redis/_server.ts";

redisTest(
  "a subscription that receives nothing is detected and replaced; until then heartbeats serve",
  async (bench) => {
    const { server, backend, connect } = bench;
    await using elsewhere = await Server.start();
    const wrong = await clients[0]!.connect(elsewhere.url);
    const direct = await connect();
    let subscriptions = 0;
    const ours = new RedisLock(
      {
        evalsha: (...args) => direct.evalsha(...args),
        eval: (...args) => direct.eval(...args),
        onClose: (listener) => direct.onClose!(listener),
        subscribe: (...args) => (++subscriptions <= 2 ? wrong.backend : direct).subscribe!(...args),
      },
      "a",
      { ttl: 3000 },
    );
    const theirs = new RedisLock(backend, "a", { ttl: 3000 });
    const first = await theirs.acquire();
    const waiting = ours.acquire({ timeout: 60_000 });
    await until(() => subscriptions === 1);
    let over = false, overtaken = 0;
    const others = Array.from({ length: 10 }, async () => {
      while (!over) await theirs.run(() => void overtaken++);
    });
    await until(async () => (await theirs.inspect()).waiters.length === 11);
    await first.release();
    await (await waiting).release();
    over = true;
    await Promise.all(others);
    assert.ok(overtaken <= 20, `overtaken ${overtaken} times`);
    const second = await theirs.acquire();
    const again = ours.acquire({ timeout: 60_000 });
    await until(() => subscriptions === 3);
    const channel = async () => {
      const [name] = await server.send("PUBSUB", "CHANNELS", "interlock:*") as string[];
      return name !== undefined;
    };
    await until(channel);
    await second.release();
    await (await again).release();
    await wrong.close();
  },
);
