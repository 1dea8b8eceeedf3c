/** Subscriptions follow the commands: a new command connection renews the subscription. */
import assert from "node:assert/strict";
import { denoRedis, type DenoRedisClient, type DenoRedisSubscriber, RedisLock } from "../../lib/redis/mod.ts";
import { test } from "../_test.ts";
import { flushMicrotasks } from "../_tools.ts";
import { clients, redisTest, until } from "../redis/_clients.ts";

for (const client of clients.filter(({ name }) => !name.startsWith("@db"))) {
  redisTest(
    `${client.name}: a new command connection renews the subscription`,
    async ({ server, backend, connect }) => {
      const subscribers = async () => {
        const list = String(await server.send("CLIENT", "LIST", "TYPE", "pubsub"));
        return [...list.matchAll(/^id=(\d+)/gm)].map(([, id]) => id).join();
      };
      const lock = new RedisLock(backend, "a", { ttl: 3000 });
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

test("denoRedis: when the client reconnects, the subscriber does, too", async () => {
  let connected = () => {};
  const client: DenoRedisClient = {
    evalsha: () => Promise.reject(new Error("called")),
    eval: () => Promise.reject(new Error("called")),
    addEventListener: (type, listener) => {
      if (type === "connect") connected = listener;
    },
  };
  const log: string[] = [];
  let end = () => {};
  const subscriber: DenoRedisSubscriber = {
    subscribe: (channel) => {
      log.push(`subscribe ${channel}`);
      const over = new Promise<IteratorResult<never>>((resolve) =>
        end = () => resolve({ done: true, value: undefined })
      );
      return Promise.resolve({
        receive: () => ({ [Symbol.asyncIterator]: () => ({ next: () => over }) }),
        subscribe: () => Promise.resolve(),
        unsubscribe: () => Promise.resolve(),
      });
    },
    close: () => {
      log.push("close");
      end();
    },
    connect: () => Promise.resolve(log.push("connect")),
  };
  const backend = denoRedis(client, subscriber);
  connected(); // no subscription yet: nothing to move
  const lost: (boolean | undefined)[] = [];
  const listen = () => backend.subscribe!("a", () => {}, () => {}, (forGood) => lost.push(forGood));
  await listen();
  connected();
  await flushMicrotasks();
  assert.deepEqual(log, ["subscribe a", "close", "connect"]);
  assert.deepEqual(lost, [true]); // so that the caller subscribes again
  await listen();
  assert.equal(log.at(-1), "subscribe a");
});

redisTest("1,000 waiters whose subscription is killed three times ask seldom, and far apart", async (bench) => {
  const { server, backend } = bench;
  const COUNT = 1000, HEARTBEAT = 3000;
  const lock = new RedisLock(backend, "a", { ttl: 3 * HEARTBEAT });
  const holder = await lock.acquire();
  const controller = new AbortController();
  const calls = Array.from({ length: COUNT }, () => lock.acquire({ signal: controller.signal }).catch(() => {}));
  await until(async () => (await lock.inspect()).waiting === COUNT);
  const commands = () => server.calls("evalsha", "eval");
  const before = await commands();
  const end = performance.now() + 3 * HEARTBEAT;
  for (let kills = 0; kills < 3; kills++) {
    await until(async () => /sub=1/.test(String(await server.send("CLIENT", "LIST", "TYPE", "pubsub"))));
    await server.send("CLIENT", "KILL", "TYPE", "pubsub");
  }
  await until(() => performance.now() > end); // each waiter has asked since
  const during = await commands() - before;
  assert.ok(during <= 6 * COUNT, `${during} commands`); // three heartbeats, and once for each kill
  const samples: number[] = [];
  for (let last = await commands(), until = performance.now() + HEARTBEAT; performance.now() < until;) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    const now = await commands();
    samples.push(now - last);
    last = now;
  }
  const all = samples.reduce((sum, one) => sum + one, 0);
  assert.ok(all >= COUNT / 2 && all <= 2 * COUNT, `${all} heartbeats`);
  assert.ok(Math.max(...samples) <= all / 4, `${samples}`);
  controller.abort();
  await Promise.all(calls);
  await holder.release();
});
