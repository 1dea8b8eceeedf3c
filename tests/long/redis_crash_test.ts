/** Crashed and stopped holders and waiters: the delay for the waiters behind them, and tokens that are never used twice. */
import assert from "node:assert/strict";
import {
  type Backend,
  type Lease,
  RedisKeyedMutex,
  RedisLock,
  type RedisOptions,
  RedisRwLock,
  RedisSemaphore,
} from "../../lib/redis/mod.ts";
import type { Acquirable } from "../../lib/types.ts";
import { clients, redisTest, subscribed, until } from "../redis/_clients.ts";
import { Server } from "../redis/_server.ts";
import { StoppedBackend } from "../redis/_stopped_backend.ts";

/**
 * Milliseconds by which a crash may delay the next waiter beyond a ttl, and a margin for a busy machine: less than a
 * heartbeat of the waiters with a ttl of 30 s, by which they would find out otherwise.
 */
const DELAY = 250;
const BUSY = 5000;

/** A resource and two requests: one that may not fit, and one that does. */
interface Body {
  readonly name: string;
  readonly large: (backend: Backend, options: RedisOptions) => Promise<Lease>;
  readonly small: (backend: Backend, options: RedisOptions) => Promise<Lease>;
  readonly waiting: (backend: Backend) => Promise<number>;
}

function body(name: string, make: (backend: Backend, options?: RedisOptions) => Acquirable<Lease>): Body {
  const acquire = (backend: Backend, options: RedisOptions) => make(backend, options).acquire();
  const waiting = async (backend: Backend) => {
    const inspected = name === "keyed"
      ? new RedisKeyedMutex(backend).inspect("a")
      : new RedisLock(backend, "a").inspect();
    return (await inspected).waiters.length;
  };
  return { name, large: acquire, small: acquire, waiting };
}

const bodies: readonly Body[] = [
  body("lock", (backend, options) => new RedisLock(backend, "a", options)),
  body("keyed", (backend, options) => new RedisKeyedMutex(backend, options).at("a")),
  {
    name: "semaphore",
    large: (backend, options) => new RedisSemaphore(backend, "a", 4, options).acquire({ permits: 4 }),
    small: (backend, options) => new RedisSemaphore(backend, "a", 4, options).acquire(),
    waiting: async (backend) => (await new RedisSemaphore(backend, "a", 4).inspect()).waiters.length,
  },
  {
    name: "read-write lock",
    large: (backend, options) => new RedisRwLock(backend, "a", options).writer.acquire(),
    small: (backend, options) => new RedisRwLock(backend, "a", options).reader.acquire(),
    waiting: async (backend) => (await new RedisRwLock(backend, "a").inspect()).waiters.length,
  },
];

for (const { name, large, small, waiting } of bodies) {
  for (const [count, ttl] of [[50, 5000], [50, 30_000], [120, 30_000]] as const) {
    redisTest(
      `${name}: ${count} waiters of a stopped process delay the next one, with ttl ${ttl}, by one ttl`,
      async (setup) => {
        const { server, backend, connect } = setup;
        const [other, options] = [await connect(), { ttl: 1500 }];
        const [held, listening] = [await large(backend, options), large(other, options)];
        await subscribed(server, 1); // so that it has nothing else to ask for while it waits
        await held.release();
        await (await listening).release();
        using stopped = new StoppedBackend(await connect());
        const first = await small(backend, { ttl });
        const dead = Array.from({ length: count }, () => large(stopped, options).catch(() => {}));
        await until(async () => await waiting(backend) === count);
        const next = small(other, { ttl });
        await until(async () => await waiting(backend) === count + 1);
        stopped.stop();
        const stoppedAt = performance.now();
        await first.release();
        const lease = await next;
        const took = performance.now() - stoppedAt;
        assert.ok(took <= options.ttl + DELAY + BUSY, `${took} ms`);
        assert.equal(await lease.release(), true);
        stopped[Symbol.dispose]();
        await Promise.all(dead);
      },
    );
  }
}

const makers: readonly [key: string, make: (backend: Backend, options: RedisOptions) => RedisLock | RedisSemaphore][] =
  [
    ["lock:3:{a}", (backend, options) => new RedisLock(backend, "a", options)],
    ["semaphore:3:{a}", (backend, options) => new RedisSemaphore(backend, "a", 1, options)],
  ];

for (const [dead, processes] of [[1000, 1], [5, 5]] as const) {
  redisTest(
    `${dead} dead waiters of ${processes} processes do not keep the next one from the end of a crashed holder's lease`,
    async ({ server, backend, connect }) => {
      for (const [key, make] of makers) {
        using stopped = new StoppedBackend(await connect());
        const holder = await make(stopped, { ttl: 1500, renew: false }).acquire();
        const keys = [`interlock:${key}:queue`, `interlock:${key}:lives`];
        await server.send("EVAL", DEAD_WAITERS, 2, ...keys, 0, dead, 1000, processes);
        stopped.stop();
        const heldUntil = performance.now() + 1500;
        const lease = await make(backend, {}).acquire();
        const late = performance.now() - heldUntil;
        assert.ok(late <= DELAY + BUSY, `${key}: ${late} ms late`);
        assert.equal(holder.held, false);
        await lease.release();
      }
    },
  );
}

redisTest("a waiter that becomes the first one learns when the lease of the new holder ends", async (bench) => {
  const { backend, connect } = bench;
  using stopped = new StoppedBackend(await connect());
  const lock = new RedisLock(backend, "a", { ttl: 30_000 });
  const first = await lock.acquire();
  const second = new RedisLock(stopped, "a", { ttl: 3000 }).acquire();
  await until(async () => (await lock.inspect()).waiters.length === 1);
  const third = lock.acquire();
  await until(async () => (await lock.inspect()).waiters.length === 2);
  await first.release();
  await second;
  stopped.stop();
  const stoppedAt = performance.now();
  const lease = await third;
  const took = performance.now() - stoppedAt;
  assert.ok(took <= 3000 + DELAY + BUSY, `${took} ms`);
  await lease.release();
});

redisTest(
  "a token that may have reached a waiter is never given to another one",
  async ({ server, backend, connect }) => {
    const replica = await Server.start("--replicaof", "127.0.0.1", String(server.port));
    const onReplica = await clients[0]!.connect(replica.url);
    try {
      await until(async () => /master_link_status:up/.test(String(await replica.send("INFO", "replication"))));
      const direct = await connect();
      let stopPrimary: (() => void | Promise<void>) | undefined;
      const tokens: number[] = [];
      // As after a failover: the commands go to the primary, and the subscription stays on a replica.
      const left: Backend = {
        evalsha: (...args) => direct.evalsha(...args),
        eval: (...args) => direct.eval(...args),
        onClose: (listener) => direct.onClose!(listener),
        subscribe: async (channel, onMessage, onGap) => {
          // Once: a waiter that notices that it is deaf subscribes again, and must stay on the replica.
          stopPrimary ??= await direct.subscribe!(channel, () => {}, () => {});
          return await onReplica.backend.subscribe!(channel, onMessage, onGap);
        },
      };
      const ours = new RedisLock(left, "a", { ttl: 3000 });
      const theirs = new RedisLock(backend, "a", { ttl: 3000 });
      const first = await theirs.acquire({ timeout: 60_000 });
      const waiter = ours.acquire({ timeout: 60_000 }).then(async (lease) => {
        tokens.push(lease.fencingToken);
        await lease.release();
      });
      const { process } = await firstOf(async () => (await theirs.inspect()).waiters);
      await until(() => stopPrimary !== undefined);
      const next = theirs.acquire({ timeout: 60_000 });
      await until(async () => (await theirs.inspect()).waiters.length === 2);
      await stopPrimary!();
      // Before the server has noticed, it would notify our waiter, and the replica would pass that on.
      await until(async () =>
        String(await server.send("PUBSUB", "NUMSUB", `interlock:push:${process}`)).endsWith(",0")
      );
      await first.release();
      const lease = await next; // our waiter holds before: by the replica's message, or by its next heartbeat
      tokens.push(lease.fencingToken);
      await lease.release();
      await waiter;
      assert.equal(new Set(tokens).size, 2, `tokens ${tokens}`);
      assert.deepEqual(tokens, tokens.toSorted((a, b) => a - b));
    } finally {
      await onReplica.close();
      await replica[Symbol.asyncDispose]();
    }
  },
  { args: ["--repl-diskless-sync-delay", "0"] }, // a replica joins at once
);

/** Waits for a list that is not empty. */
async function firstOf<T>(list: () => Promise<readonly T[]>): Promise<T> {
  let found: readonly T[] = [];
  await until(async () => (found = await list()).length > 0);
  return found[0]!;
}

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

/** From, how many, the milliseconds that are left of their lives, and of how many processes. */
const DEAD_WAITERS = `
local time = redis.call('TIME')
local ends = time[1] * 1000000 + time[2] + ARGV[3] * 1000
for i = ARGV[1] + 1, ARGV[1] + ARGV[2] do
  local id = string.format('deadpr%02d%013d', i % ARGV[4], i)
  redis.call('ZADD', KEYS[1], i, id .. ' 1 1 ')
  redis.call('ZADD', KEYS[2], ends, id .. ' 1 1 ')
end`;
