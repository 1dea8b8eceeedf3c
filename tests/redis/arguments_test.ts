/** Bad arguments throw at once; names of any text never collide. */
import assert from "node:assert/strict";
import {
  bunRedis,
  denoRedis,
  ioRedis,
  memoryBackend,
  nodeRedis,
  RedisKeyedMutex,
  RedisLock,
  RedisRateLimiter,
  RedisRwLock,
  RedisSemaphore,
} from "../../lib/redis/mod.ts";
import { keysOf, rateKeysOf } from "../../lib/redis/options.ts";
import { Redis } from "ioredis";
import { createClient, createClientPool } from "redis";
import { createSentinel as createSentinel5 } from "redis5";
import { redisTest } from "./_clients.ts";
import { slotOf } from "./_slots.ts";
import { PASSWORD } from "../_secrets.ts";
import { test } from "../_test.ts";

const silent = { evalsha: () => Promise.reject(new Error("called")), eval: () => Promise.reject(new Error("called")) };

test("constructors reject bad arguments", () => {
  const makers: ((...args: never[]) => unknown)[] = [
    (backend, name, options) => new RedisLock(backend, name, options),
    (backend, name, options) => new RedisSemaphore(backend, name, 1, options),
    (backend, name, options) => new RedisRwLock(backend, name, options),
  ];
  const [any] = [silent as never];
  for (const make of makers) {
    assert.throws(() => make(undefined as never, "a" as never), /backend must be a Backend/);
    assert.throws(() => make({} as never, "a" as never), TypeError);
    // The client itself has functions of the same names.
    const client = new Redis({ lazyConnect: true });
    assert.throws(() => make(client as never, "a" as never), /backend must be a Backend made of the client/);
    const denoClient = { ...silent, sendCommand: silent.eval };
    assert.throws(() => make(denoClient as never, "a" as never), /backend must be a Backend made of the client/);
    // So do these; asked with a Backend's arguments they fail, which took a call's whole time to show.
    const call = silent.eval;
    for (
      const [client, got] of [
        [{ ...silent, send: call, duplicate: call, onclose: null }, "a RedisClient of Bun: use bunRedis"],
        [{ ...silent, createScript: call, autoPipelineExecutor: {} }, "a client of @upstash/redis, which has no "],
        [{ ...silent, duplicate: call, status: "ready" }, "a client of npm:ioredis: use ioRedis"],
        [Promise.resolve(silent), "a promise: await it first"],
        [class RedisClient {}, "a function or class: pass what it makes"],
        [memoryBackend, "a function or class: pass what it makes"],
      ] as const
    ) {
      const refusal = new RegExp(`^TypeError: backend must be a Backend made of the client, .*, got ${got}`);
      assert.throws(() => make(client as never, "a" as never), (error) => refusal.test(String(error)));
    }
    assert.throws(() => make(any, 5 as never), /name must be a string, got 5/);
    assert.throws(() => make(any, "" as never), RangeError);
    for (const ttl of [0, -1, NaN, Infinity, 0.5, 9, 2 ** 31]) {
      assert.throws(() => make(any, "a" as never, { ttl } as never), /ttl must be a whole number/);
    }
    assert.throws(() => make(any, "a" as never, { ttl: "5" } as never), TypeError);
    assert.throws(() => make(any, "a" as never, { renew: "1" } as never), TypeError);
    assert.throws(() => make(any, "a" as never, { prefix: 1 } as never), TypeError);
    for (const prefix of ["a{", "a\ud800", "\udc00:"]) {
      assert.throws(() => make(any, "a" as never, { prefix } as never), {
        name: "RangeError",
        message: `prefix must not contain braces or lone surrogates, got ${JSON.stringify(prefix)}`,
      });
    }
    make(any, "a" as never, { prefix: "\u{1f512}:" } as never);
    assert.throws(() => make(any, "a" as never, 5 as never), TypeError);
  }
  for (const permits of [0, -1, 1.5, NaN, Infinity]) {
    assert.throws(() => new RedisSemaphore(silent, "a", permits), RangeError);
  }
  assert.throws(() => new RedisSemaphore(silent, "a", "1" as never), TypeError);
});

test("a URL in place of a client is refused with the remedy, and its password is not shown", () => {
  const urls = [`rediss://user:${PASSWORD}@redis.example:6380`, `:${PASSWORD}@redis.example:6380`];
  const adapters: ((client: never) => unknown)[] = [
    nodeRedis,
    ioRedis,
    bunRedis,
    denoRedis,
    (client) => denoRedis({ evalsha() {}, eval() {}, sendCommand() {}, isClosed: false } as never, client),
    (client) => new RedisLock(client, "orders"),
    (client) => new RedisKeyedMutex(client),
  ];
  for (const [adapter, url] of adapters.flatMap((adapter) => urls.map((url) => [adapter, url] as const))) {
    assert.throws(() => adapter(url as never), (error: Error) => {
      assert.match(
        error.message,
        /^(client|subscriber|backend) must be .*, got the URL of a server: pass a client that connects to it$/,
      );
      assert.ok(!String(error.stack).includes(PASSWORD));
      return error instanceof TypeError;
    });
  }
});

test("clients that cannot subscribe are rejected unless push is switched off", async () => {
  const pool = createClientPool();
  const sentinel = createSentinel5({ name: "a", sentinelRootNodes: [{ host: "127.0.0.1", port: 1 }] });
  const refusal = /^TypeError: client must be one that can subscribe, which a pool cannot: .*\{ push: false \}/;
  assert.throws(() => nodeRedis(pool), (error) => refusal.test(String(error)));
  const backend = nodeRedis(pool, { push: false });
  assert.equal(nodeRedis(pool, { push: false }), backend);
  assert.equal(nodeRedis(sentinel, { push: false }).subscribe, undefined);
  assert.equal(backend.subscribe, undefined);
  const client = createClient();
  assert.notEqual(nodeRedis(client, { push: false }), nodeRedis(client));
  assert.equal(nodeRedis(client, { push: true }), nodeRedis(client));
  assert.equal(nodeRedis(client, { push: false }).subscribe, undefined);
  assert.throws(() => nodeRedis(client, { push: 1 as never }), /^TypeError: push must be a boolean/);
  assert.throws(() => ioRedis({} as never, 5 as never), TypeError);
  const call = () => Promise.reject(new Error("called"));
  const both = { evalsha: call, eval: call, subscribe: call };
  assert.throws(() => denoRedis(both, both), /^TypeError: subscriber must be a second connection/);
  await pool.close().catch(() => {});
});

test("bad keys of a keyed mutex reject the call", async () => {
  const mutex = new RedisKeyedMutex(silent);
  for (const key of [5, null, undefined]) {
    await assert.rejects(mutex.acquire(key as never), TypeError);
    await assert.rejects(mutex.tryAcquire(key as never), TypeError);
    await assert.rejects(mutex.run(key as never, () => {}), TypeError);
    await assert.rejects(mutex.inspect(key as never), TypeError);
  }
  // @ts-expect-error: the key comes first
  await assert.rejects(mutex.run(() => {}), /^TypeError: key must be .*: the key comes first/);
});

redisTest("an empty key is a key like others, in memory, too", async ({ backend }) => {
  for (const one of [backend, memoryBackend()]) {
    const mutex = new RedisKeyedMutex(one);
    const lease = await mutex.acquire("");
    assert.equal(await mutex.tryAcquire(""), undefined);
    assert.equal((await mutex.inspect("")).holders.length, 1);
    assert.equal(await mutex.run("%.", () => "another key"), "another key");
    assert.equal(await lease.release(), true);
    const limiter = new RedisRateLimiter(one, "api", 1, 60_000);
    assert.deepEqual([await limiter.at("").tryAcquire(), await limiter.at("").tryAcquire()], [true, false]);
    assert.deepEqual([await limiter.tryAcquire(), await limiter.at("%.").tryAcquire()], [true, true]);
  }
});

test("an empty key has all its keys in one slot of a cluster", () => {
  for (const keys of [keysOf("", "keyed", ""), rateKeysOf("", "api", "")]) {
    assert.equal(new Set(keys.map(slotOf)).size, 1, keys.join(" "));
  }
});

test("a key is the same whatever version of Unicode a run-time knows", () => {
  const [key] = keysOf("", "lock", "\u0378\u{1faea}\u{110bd} \u200b"); // never assigned, new in 17.0, invisible in new versions only
  assert.equal(key, "lock:3:{\u0378\u{1faea}\u{110bd}%20.%200b.}");
});

redisTest("names of any text, kinds and prefixes never collide", async ({ server, backend }) => {
  const long = "x".repeat(10_000);
  const names = ["a", "a ", "a b", "a\tb", "{a}", "}a{", "{}", "%7b.", "%7b", "{", "a|b", "a:order", "ä", "a\u0308"];
  names.push("\ud800", "\ud801", "\ufffd", "\0", "🔒", "\u200b", "a:b", "a}:order", long, `${long}y`);
  const held = [
    ...names.map((name) => new RedisLock(backend, name)),
    ...names.map((name) => new RedisSemaphore(backend, name, 1)),
    ...names.map((name) => new RedisRwLock(backend, name).writer),
    new RedisLock(backend, "a", { prefix: "" }),
    new RedisLock(backend, "a", { prefix: "other:" }),
  ];
  const mutex = new RedisKeyedMutex(backend);
  const leases = await Promise.all([
    ...held.map((one) => one.tryAcquire()),
    ...names.map((name) => mutex.tryAcquire(name)),
  ]);
  assert.ok(leases.every((lease) => lease?.held));
  const keys = await server.send("KEYS", "*") as string[];
  assert.equal(keys.filter((key) => !key.endsWith("}:lives")).length, leases.length);
  assert.equal((await Promise.all(held.map((one) => one.tryAcquire()))).filter((lease) => lease).length, 0);
  await Promise.all(leases.map((lease) => lease!.release()));
});
