/** A client that an adapter cannot work with is named, with the remedy; an unconnected one says how to connect. */
import assert from "node:assert/strict";
import { Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis5";
import { createClient, createCluster, createSentinel } from "redis";
import { createClient as createClient5, createSentinel as createSentinel5 } from "redis5";
import { bunRedis, denoRedis, ioRedis, nodeRedis, RedisError, RedisLock } from "../../../lib/redis/mod.ts";
import { test } from "../../_test.ts";
import { closeIo } from "../_clients.ts";

const call = () => Promise.reject(new Error("called"));
const methods = (...names: string[]) => Object.fromEntries(names.map((name) => [name, call]));

/** The members by which these clients are known, which are no dependencies of the tests. */
const node4 = { ...methods("evalSha", "eval", "on", "duplicate", "subscribe", "disconnect", "quit"), isOpen: true };
const node3 = methods("send_command", "evalsha", "eval", "on", "duplicate");
const bun = { ...methods("send", "duplicate", "subscribe"), onclose: null, onconnect: null };
const deno = { ...methods("evalsha", "eval", "sendCommand"), isClosed: false };
const glide = methods("customCommand", "invokeScript");
const sentinels = { name: "orders", sentinelRootNodes: [{ host: "127.0.0.1", port: 1 }] };

const refusal = (adapter: (client: never) => unknown, client: unknown, words: RegExp) =>
  assert.throws(() => adapter(client as never), (error) => error instanceof TypeError && words.test(error.message));

test("adapters reject what is not their client, and name its library with the adapter to use", async () => {
  const io = [new Redis({ lazyConnect: true }), new Redis5({ lazyConnect: true })];
  const node = [createClient(), createClient5(), createCluster({ rootNodes: [] })];
  const none = [null, 5, "redis://127.0.0.1", {}, methods("evalsha", "eval")];
  const cases: [(client: never) => unknown, unknown[], RegExp][] = [
    [nodeRedis, none, /^client must be a client of npm:redis, got /],
    [nodeRedis, [new URL("redis://localhost")], /, got an object \(URL\)/],
    [ioRedis, none, /^client must be a client of npm:ioredis, got /],
    [bunRedis, none, /^client must be a client of Bun \(RedisClient\), got /],
    [denoRedis, none.slice(0, 4), /^client must be a client of jsr:@db\/redis, got /],
    [(client) => denoRedis(deno as never, client), none, /^subscriber must be a client of jsr:@db\/redis, got /],
    [nodeRedis, io, /^client must be a client of npm:redis, got a client of npm:ioredis: use ioRedis\(client\)$/],
    [denoRedis, io, /of jsr:@db\/redis, got a client of npm:ioredis: use ioRedis\(client\)$/],
    [ioRedis, node, /^client must be a client of npm:ioredis, got a client of npm:redis: use nodeRedis\(client\)$/],
    [bunRedis, [...node, ...io], /^client must be a client of Bun \(RedisClient\), got a client of npm:/],
    [nodeRedis, [bun], /got a RedisClient of Bun: use bunRedis\(client\)$/],
    [ioRedis, [deno], /got a client of jsr:@db\/redis: use denoRedis\(client\)$/],
    [ioRedis, [glide], /got a client of Valkey GLIDE, for which there is no adapter: write a Backend for it$/],
    [nodeRedis, [Promise.resolve()], /got a promise: await it first$/],
    [nodeRedis, [{ createClient }], /got the module of a client: pass the client that it makes/],
    [ioRedis, io.map((client) => client.multi()), /got a pipeline or transaction of a client: pass the client itself$/],
    [nodeRedis, node.map((client) => client.multi()), /got a pipeline or transaction of a client: pass/],
    [ioRedis, [ioRedis(io[0]!)], /got a backend, as adapters return it/],
  ];
  for (const [adapter, clients, words] of cases) {
    for (const client of clients) refusal(adapter, client, words);
  }
  for (const client of io) await closeIo(client);
});

test("clients of versions that cannot do it are refused, with the version and the remedy", () => {
  refusal(nodeRedis, node4, /got a client of npm:redis 4: install redis 5 or newer$/);
  refusal(nodeRedis, { ...node4, masters: [] }, /got a client of npm:redis 4: install redis 5 or newer$/);
  refusal(ioRedis, node3, /got a client of npm:redis 3 or older: install redis 5 or newer/);
  const sentinel5 = createSentinel5(sentinels);
  refusal(
    nodeRedis,
    sentinel5,
    /createSentinel of npm:redis 5 cannot: install redis 6 or use ioredis, or .*push: false/,
  );
  assert.equal(nodeRedis(sentinel5 as never, { push: false }).subscribe, undefined);
  assert.equal(typeof nodeRedis(createSentinel(sentinels) as never).subscribe, "function");
});

test("a client that was never connected says so, with every call", async () => {
  for (const client of [createClient(), createClient5()]) {
    const lock = new RedisLock(nodeRedis(client), "a");
    const calls = [
      () => lock.acquire(),
      () => lock.tryAcquire(),
      () => lock.acquire({ timeout: 100 }),
      () => lock.inspect(),
    ];
    for (const call of calls) {
      await assert.rejects(call, (error) => {
        assert.ok(error instanceof RedisError);
        assert.match(error.message, /lock "a": the client is not connected; call `await client\.connect\(\)` first$/);
        return true;
      });
    }
  }
});
