/** The adapter for ioredis, beyond the tests of all clients. */
import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { Redis } from "ioredis";
import { Redis as IoRedis5 } from "ioredis5";
import { ioRedis, RedisLock } from "../../../lib/redis/mod.ts";
import { test } from "../../_test.ts";
import { flushMicrotasks } from "../../_tools.ts";
import { type Client, closeIo, knowsSubscriberFailure, redisTest, until, useIo } from "../_clients.ts";
import { computeDigests } from "../_scripted.ts";

await computeDigests();

test("ioRedis: the same client gives the same backend, which reports when it is closed", async () => {
  const client = new Redis({ lazyConnect: true });
  const backend = ioRedis(client);
  let told = 0;
  backend.onClose!(() => told++);
  assert.equal(ioRedis(client), backend);
  assert.equal(backend.closed, false);
  assert.equal(backend.cluster, false);
  client.emit("close"); // a connection that is lost
  assert.deepEqual([backend.closed, told], [false, 0]);
  await closeIo(client);
  assert.equal(backend.closed, true);
  assert.equal(told, 1);
});

test("ioRedis: a cluster that cannot subscribe keeps no listener of the adapter", async () => {
  const call = () => Promise.reject(new Error("no connection"));
  const cluster = Object.assign(new EventEmitter(), { isCluster: true, status: "ready", evalsha: call, eval: call });
  const client = Object.assign(cluster, { subscribe: call, unsubscribe: call, duplicate: () => cluster });
  const backend = ioRedis(client);
  const before = client.eventNames().map((event) => [event, client.listenerCount(event)]);
  await assert.rejects(backend.subscribe!("channel", () => {}, () => {}), /no connection/);
  assert.deepEqual(client.eventNames().map((event) => [event, client.listenerCount(event)]), before);
});

test("ioRedis: a cluster's subscription that has ended keeps no listener", async () => {
  const call = () => Promise.resolve(1);
  const cluster = Object.assign(new EventEmitter(), { isCluster: true, status: "ready", evalsha: call, eval: call });
  const client = Object.assign(cluster, { subscribe: call, unsubscribe: call, duplicate: () => cluster });
  const backend = ioRedis(client);
  const before = client.eventNames().map((event) => [event, client.listenerCount(event)]);
  await (await backend.subscribe!("channel", () => {}, () => {}))();
  assert.deepEqual(client.eventNames().map((event) => [event, client.listenerCount(event)]), before);
});

test("ioRedis: a client that cannot subscribe keeps no second connection and no listener for it", async () => {
  const call = () => Promise.reject(new Error("no connection"));
  let disconnected = 0;
  const disconnect = () => void disconnected++;
  const own = Object.assign(new EventEmitter(), { status: "connecting", disconnect, subscribe: call });
  const client = Object.assign(new EventEmitter(), {
    status: "ready",
    evalsha: call,
    eval: call,
    duplicate: () => own,
  });
  const backend = ioRedis(client);
  const before = client.listenerCount("end");
  await assert.rejects(backend.subscribe!("channel", () => {}, () => {}), /no connection/);
  assert.deepEqual([disconnected, client.listenerCount("end")], [1, before]);
});

test("ioRedis: the server is heard with each part of its answer to the greeting, and not by an attempt to connect", () => {
  const call = () => Promise.resolve(1);
  const stream = new EventEmitter();
  const client = Object.assign(new EventEmitter(), { status: "connecting", evalsha: call, eval: call, stream });
  const backend = ioRedis(Object.assign(client, { duplicate: () => client }), { push: false });
  const heardAt = () => backend.connection!.heardAt;
  client.emit("connecting");
  assert.equal(heardAt(), undefined);
  client.status = "connect";
  client.emit("connect");
  assert.equal(heardAt(), undefined);
  stream.emit("data", "first part");
  const first = heardAt()!;
  assert.ok(first <= performance.now());
  stream.emit("data", "last part");
  const last = heardAt()!;
  assert.ok(last >= first && last === backend.connection!.since);
  client.status = "ready";
  client.emit("ready");
  stream.emit("data", "answer to a command");
  assert.equal(heardAt(), last);
  client.emit("close");
  assert.equal(heardAt(), undefined);
});

test("ioRedis: a lost connection counts once, however often the client fails to connect again", () => {
  const call = () => Promise.reject(new Error("no connection"));
  const client = Object.assign(new EventEmitter(), { status: "ready", evalsha: call, eval: call });
  const backend = ioRedis(Object.assign(client, { duplicate: () => client }), { push: false });
  for (const event of ["close", "close", "ready", "close", "close"]) client.emit(event);
  assert.equal(backend.losses, 2);
});

const HELD_BACK = {
  tryagain: /^Cannot acquire lock "a": the slot of a name is being moved/,
  clusterdown: /^Cannot acquire lock "a": the cluster is down/,
};

for (const [queue, message] of Object.entries(HELD_BACK)) {
  test(`ioRedis: a call that ends while a cluster client holds its command back says why: ${queue}`, async () => {
    const held: (() => void)[] = [];
    const call = () => new Promise((_, reject) => void held.push(() => reject(new Error("closed"))));
    const cluster = Object.assign(new EventEmitter(), { isCluster: true, status: "ready", evalsha: call, eval: call });
    const client = Object.assign(cluster, { duplicate: () => cluster, delayQueue: { queues: { [queue]: {} } } });
    const lock = new RedisLock(ioRedis(client, { push: false }), "a", { ttl: 100 });
    await assert.rejects(lock.acquire(), { message });
    await until(() => held.length >= 2); // the second one gives its place back, and is sent again
    client.status = "end";
    for (const close of held) close();
  });
}

test("ioRedis: a cluster client that is never ready says so, and one that cannot connect gives that error", () => {
  const call = () => Promise.reject(new Error("no connection"));
  const client = Object.assign(new EventEmitter(), {
    isCluster: true,
    status: "connecting",
    evalsha: call,
    eval: call,
  });
  client.on("error", () => {}); // of the application
  const backend = ioRedis(Object.assign(client, { duplicate: () => client }), { push: false });
  client.emit("connect");
  client.emit("close");
  assert.match(String(backend.failure), /ioredis is not ready before CLUSTER INFO/);
  client.emit("error", new Error("connect ECONNREFUSED"));
  client.emit("close");
  assert.match(String(backend.failure), /ECONNREFUSED/);
});

test("ioRedis: the adapter subscribes again after a reconnection, so no error of that is uncaught", async () => {
  const call = () => Promise.reject(new Error("called"));
  const subscribed: string[] = [];
  let works = true;
  const own = Object.assign(new EventEmitter(), {
    status: "ready",
    disconnect() {},
    subscribe: (channel: string) => {
      subscribed.push(channel);
      return works ? Promise.resolve() : Promise.reject(new Error("Connection is closed."));
    },
  });
  const overrides: object[] = [];
  const duplicate = (override: object) => (overrides.push(override), own);
  const client = Object.assign(new EventEmitter(), { status: "ready", evalsha: call, eval: call, duplicate });
  let gaps = 0;
  await ioRedis(client).subscribe!("channel", () => {}, () => gaps++);
  assert.deepEqual(overrides, [{ enableOfflineQueue: true, autoResubscribe: false }]);
  for (works of [false, true]) {
    own.emit("ready");
    await flushMicrotasks();
  }
  assert.deepEqual([subscribed, gaps], [["channel", "channel", "channel"], 1]);
});

const unqueued = { lazyConnect: true, enableOfflineQueue: false };
const clients: readonly Client[] = [
  { name: "ioredis 6", connect: (url) => useIo(new Redis(url, unqueued)) },
  { name: "ioredis 5", connect: (url) => useIo(new IoRedis5(url, unqueued)) },
];

for (const client of clients) {
  redisTest(`${client.name}: a client without an offline queue subscribes all the same`, async (bench) => {
    const heard: string[] = [];
    const stop = await bench.backend.subscribe!("channel", (message) => heard.push(message), () => {});
    assert.equal(await bench.server.send("PUBLISH", "channel", "hello"), 1);
    await until(() => heard.length === 1);
    await stop();
  }, { client });
}

test("ioRedis: the failure of a subscribing connection is known until it is back", async () => {
  const own = Object.assign(new EventEmitter(), {
    status: "ready",
    disconnect: () => {},
    subscribe: () => Promise.resolve(1),
    unsubscribe: () => Promise.resolve(0),
  });
  const call = () => Promise.resolve(1);
  const client = Object.assign(new EventEmitter(), { status: "ready", evalsha: call, eval: call });
  await knowsSubscriberFailure(ioRedis(Object.assign(client, { duplicate: () => own })), own);
});
