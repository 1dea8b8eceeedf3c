/** A slot that moves under load, while another node of the cluster fails over to its replica. */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { type Backend, RedisLock, RedisRateLimiter, RedisSemaphore } from "../../lib/redis/mod.ts";
import { slotOf } from "../redis/_slots.ts";
import { test } from "../_test.ts";
import { until } from "../redis/_clients.ts";
import { addReplicas, inCluster, namesOnEach, nodeOf } from "../redis/_cluster.ts";
import type { Server } from "../redis/_server.ts";

const options = { ttl: 5000 };
/** Calls that must succeed, however slow the machine. */
const timeout = 60_000;

/** Callers that take turns with a lock until they are stopped. */
class Load {
  /** Set when one of them fails. */
  failure: Error | undefined;
  entries = 0;
  #inside = 0;
  #last = 0;
  #over = false;
  readonly #tasks: Promise<void>[];

  constructor(backends: readonly Backend[], name: string) {
    this.#tasks = [...backends, ...backends].map((backend) =>
      this.#loop(name, new RedisLock(backend, name, options)).catch((error) => void (this.failure ??= error))
    );
  }

  async #loop(name: string, lock: RedisLock): Promise<void> {
    while (!this.#over) {
      await using lease = await lock.acquire({ timeout });
      assert.equal(++this.#inside, 1, `${name}: two holders`);
      assert.ok(lease.fencingToken > this.#last, `${name}: a token went back`);
      this.#last = lease.fencingToken;
      await sleep(1);
      assert.equal(lease.held, true);
      this.#inside--;
      this.entries++;
    }
  }

  /** Whether there were this many turns. Throws the failure, if there is one. */
  has(entries: number): boolean {
    if (this.failure) throw this.failure;
    return this.entries >= entries;
  }

  async stop(): Promise<void> {
    this.#over = true;
    await Promise.all(this.#tasks);
  }
}

/** Sends a command until it succeeds: on a slow machine a node may not be ready for it at first. */
async function insist(node: Server, ...parts: (string | number)[]): Promise<void> {
  let failure: unknown;
  const sent = () => node.send(...parts).then(() => true, (error) => (failure = error, false));
  await until(sent, 20_000).catch((cause) => assert.fail(`${parts.join(" ")}: ${failure} (${cause})`));
}

/** Moves a slot with its keys, as `redis-cli --cluster reshard` does, key by key; the other nodes hear of it from these two. */
async function move(slot: number, source: Server, target: Server): Promise<void> {
  const [from, to] = [String(await source.send("CLUSTER", "MYID")), String(await target.send("CLUSTER", "MYID"))];
  await target.send("CLUSTER", "SETSLOT", slot, "IMPORTING", from);
  await source.send("CLUSTER", "SETSLOT", slot, "MIGRATING", to);
  for (let empty = 0; empty < 3;) {
    const keys = await source.send("CLUSTER", "GETKEYSINSLOT", slot, 1) as string[];
    if (keys.length === 0) empty++;
    else await insist(source, "MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", ...keys);
    await sleep(150); // calls come while keys of one name are on both nodes
  }
  for (const node of [target, source]) await insist(node, "CLUSTER", "SETSLOT", slot, "NODE", to);
}

async function failOver(node: Server, replica: Server): Promise<void> {
  const role = async () => /role:(\w+)/.exec(String(await replica.send("INFO", "replication")))?.[1];
  await until(async () => {
    await replica.send("CLUSTER", "FAILOVER").catch(() => {});
    return await until(async () => await role() === "master", 2000).then(() => true, () => false);
  });
  await until(async () => /role:slave/.test(String(await node.send("INFO", "replication"))));
}

test("a slot moves under load while another node fails over: no two holders, and no lease is lost", async () => {
  const replicas: Server[] = [];
  try {
    await inCluster(async (backends, nodes) => {
      replicas.push(...await addReplicas(nodes));
      const [first, second, third] = namesOnEach(1).sort((a, b) => nodeOf(slotOf(`{${a}}`)) - nodeOf(slotOf(`{${b}}`)));
      const names = [first!, second!, third!];
      const kept = await Promise.all(
        names.map((name) => new RedisSemaphore(backends[0]!, name, 2, options).acquire({ timeout })),
      );
      const loads = names.map((name) => new Load(backends, name));
      const limiters = names.map((name) => new RedisRateLimiter(backends[1]!, name, 1000, 60_000));
      const progress = async () => {
        const before = loads.map(({ entries }) => entries);
        await until(() => loads.every((load, i) => load.has(before[i]! + 10)));
      };
      try {
        await progress();
        await Promise.all([
          move(slotOf(`{${first}}`), nodes[0]!, nodes[2]!),
          failOver(nodes[1]!, replicas[1]!),
        ]);
        await progress();
        await Promise.all(limiters.map((limiter) => limiter.acquire({ timeout })));
      } finally {
        await Promise.all(loads.map((load) => load.stop())); // a failure of theirs does not hide the one that came first
      }
      assert.deepEqual(loads.map(({ failure }) => failure), [undefined, undefined, undefined]);
      assert.ok(Number(await nodes[2]!.send("CLUSTER", "COUNTKEYSINSLOT", slotOf(`{${first}}`))) > 0, "nothing moved");
      assert.deepEqual(kept.map((lease) => lease.held), [true, true, true]);
      assert.deepEqual(await Promise.all(kept.map((lease) => lease.release())), [true, true, true]);
    });
  } finally {
    for (const replica of replicas) await replica[Symbol.asyncDispose](); // after the clients, which would reconnect
  }
});
