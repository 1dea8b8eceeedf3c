/** The adapter for ioredis, beyond the tests of all clients; and its batches of writes, which keep order and leave none behind. */
import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { Redis } from "ioredis";
import { Cork } from "../../../lib/redis/clients/io_redis.ts";
import { ioRedis, RedisLock } from "../../../lib/redis/mod.ts";
import { test } from "../../_test.ts";
import { flushMicrotasks } from "../../_tools.ts";
import { sinon, under } from "../../internal/_fake_clocks.ts";
import { closeIo, until } from "../_clients.ts";
import { computeDigests } from "../_scripted.ts";
import { fails, keepsListeners, knowsSubscriberFailure, subscribe, works } from "./_doubles.ts";

await computeDigests();

/** A double, of which each command ends as `command` does, and which is its own second connection. */
class Double extends EventEmitter {
  status = "ready";
  readonly evalsha: () => Promise<unknown>;
  readonly eval: () => Promise<unknown>;
  readonly subscribe: () => Promise<unknown>;
  readonly unsubscribe: () => Promise<unknown>;

  constructor(command: () => Promise<unknown>, members: object = {}) {
    super();
    this.evalsha =
      this.eval =
      this.subscribe =
      this.unsubscribe =
        command;
    Object.assign(this, members);
  }

  duplicate(): object {
    return this;
  }

  disconnect(): void {}
}

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
  const client = new Double(fails, { isCluster: true });
  const backend = ioRedis(client);
  await keepsListeners(client, () => assert.rejects(subscribe(backend), /no connection/));
});

test("ioRedis: a cluster's subscription that has ended keeps no listener", async () => {
  const client = new Double(works, { isCluster: true });
  const backend = ioRedis(client);
  await keepsListeners(client, async () => await (await subscribe(backend))());
});

test("ioRedis: a client that cannot subscribe keeps no second connection and no listener for it", async () => {
  let disconnected = 0;
  const own = new Double(fails, { status: "connecting", disconnect: () => void disconnected++ });
  const client = new Double(fails, { duplicate: () => own });
  const backend = ioRedis(client);
  await keepsListeners(client, () => assert.rejects(subscribe(backend), /no connection/));
  assert.equal(disconnected, 1);
});

test("ioRedis: the server is heard with each part of its answer to the greeting, and not by an attempt to connect", () => {
  const stream = new EventEmitter();
  const client = new Double(works, { status: "connecting", stream });
  const backend = ioRedis(client, { push: false });
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
  const client = new Double(fails);
  const backend = ioRedis(client, { push: false });
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
    const client = new Double(call, { isCluster: true, delayQueue: { queues: { [queue]: {} } } });
    const lock = new RedisLock(ioRedis(client, { push: false }), "a", { ttl: 100 });
    await assert.rejects(lock.acquire(), { message });
    await until(() => held.length >= 2); // the second one gives its place back, and is sent again
    client.status = "end";
    for (const close of held) close();
  });
}

test("ioRedis: a cluster client that is never ready says so, and one that cannot connect gives that error", () => {
  const client = new Double(fails, { isCluster: true, status: "connecting" });
  client.on("error", () => {}); // of the application
  const backend = ioRedis(client, { push: false });
  client.emit("connect");
  client.emit("close");
  assert.match(String(backend.failure), /ioredis is not ready before CLUSTER INFO/);
  client.emit("error", new Error("connect ECONNREFUSED"));
  client.emit("close");
  assert.match(String(backend.failure), /ECONNREFUSED/);
});

test("ioRedis: the adapter subscribes again after a reconnection, so no error of that is uncaught", async () => {
  const subscribed: string[] = [];
  let command = works;
  const own = new Double(fails, { subscribe: (channel: string) => (subscribed.push(channel), command()) });
  const overrides: object[] = [];
  const client = new Double(fails, { duplicate: (override: object) => (overrides.push(override), own) });
  let gaps = 0;
  await ioRedis(client).subscribe!("channel", () => {}, () => gaps++);
  assert.deepEqual(overrides, [{ enableOfflineQueue: true, autoResubscribe: false }]);
  for (command of [fails, works]) {
    own.emit("ready");
    await flushMicrotasks();
  }
  assert.deepEqual([subscribed, gaps], [["channel", "channel", "channel"], 1]);
});

test("ioRedis: the failure of a subscribing connection is known until it is back", async () => {
  const own = new Double(works);
  await knowsSubscriberFailure(ioRedis(new Double(works, { duplicate: () => own })), own);
});

/** A stream that records its batches. */
class Recorder {
  readonly writes: string[] = [];
  #held: string | undefined;

  cork(): void {
    assert.equal(this.#held, undefined, "corked twice");
    this.#held = "";
  }

  uncork(): void {
    if (this.#held !== undefined) this.writes.push(this.#held);
    this.#held = undefined;
  }

  write(text: string): void {
    if (this.#held === undefined) this.writes.push(text);
    else this.#held += text;
  }
}

test("Cork: commands of one turn go out in one write, in order", async () => {
  const [cork, stream] = [new Cork(), new Recorder()];
  const commands = Array.from({ length: 40 }, (_, i) => ` ${i}`);
  for (const command of commands) {
    cork.hold(stream);
    stream.write(command);
  }
  assert.deepEqual(stream.writes, []);
  await flushMicrotasks();
  assert.deepEqual(stream.writes, [commands.join("")]);
  cork.hold(stream);
  stream.write("u");
  await flushMicrotasks();
  assert.equal(stream.writes.at(-1), "u");
});

test("Cork: a new connection in the same turn, and none at all", async () => {
  const [cork, old, fresh] = [new Cork(), new Recorder(), new Recorder()];
  for (const stream of [old, undefined, fresh, null, {}, fresh]) {
    cork.hold(stream);
    if (stream instanceof Recorder) stream.write("x");
  }
  await flushMicrotasks();
  assert.deepEqual([old.writes, fresh.writes], [["x"], ["xx"]]);
});

test("Cork: a clock of a test that replaces queueMicrotask keeps no command back", () =>
  under(() => sinon(["queueMicrotask"]), async () => {
    const [cork, stream] = [new Cork(), new Recorder()];
    cork.hold(stream);
    stream.write("a");
    await flushMicrotasks();
    assert.deepEqual(stream.writes, ["a"]);
  }));
