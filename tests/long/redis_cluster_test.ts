/** Three nodes of a cluster, through the cluster clients of both libraries. */
import assert from "node:assert/strict";
import { type Backend, RedisLock, RedisRwLock, RedisSemaphore } from "../../lib/redis/mod.ts";
import { slotOf } from "../redis/_slots.ts";
import { test } from "../_test.ts";
import { until } from "../redis/_clients.ts";
import { inCluster, nodeOf } from "../redis/_cluster.ts";

/** Long enough for a slow machine to renew a lease in time. */
const ttl = 5000;
/** Calls that must succeed, however slow the machine. */
const timeout = 60_000;

/** The operations of each class, with names on all nodes. */
async function works(backends: Backend[]): Promise<void> {
  const names = Array.from({ length: 12 }, (_, i) => `name ${i}`);
  await Promise.all(names.map(async (name) => {
    const [here, there] = backends.map((backend) => new RedisLock(backend, name, { ttl }));
    const first = await here!.acquire({ timeout });
    const { expiresAt } = first;
    const second = there!.acquire({ timeout });
    await until(async () => (await here!.inspect()).waiters.length === 1);
    await until(() => first.expiresAt > expiresAt + 500); // renewed, though no two names are in one command
    assert.equal(await first.release(), true);
    const lease = await second;
    assert.ok(lease.fencingToken > first.fencingToken);
    await lease.release();
    await new RedisSemaphore(backends[0]!, name, 2).run(() => {}, { permits: 2 });
    await new RedisRwLock(backends[1]!, name).writer.run(() => {});
  }));
}

test("a cluster, through ioredis and node-redis", () => inCluster(works));

test("the error of a call that ends while its slot is open names the move", () =>
  inCluster(async (backends, nodes) => {
    for (const [i, backend] of backends.entries()) {
      const lock = new RedisLock(backend, `moving${i}`, { ttl });
      const lease = await lock.acquire({ timeout });
      const slot = slotOf(`{moving${i}}`);
      const [source, target] = [nodes[nodeOf(slot)]!, nodes[(nodeOf(slot) + 1) % 3]!];
      await target.send("CLUSTER", "SETSLOT", slot, "IMPORTING", String(await source.send("CLUSTER", "MYID")));
      await source.send("CLUSTER", "SETSLOT", slot, "MIGRATING", String(await target.send("CLUSTER", "MYID")));
      await assert.rejects(lock.acquire({ timeout: 1000 }), ({ name, cause }: Error) => {
        assert.equal(name, "TimeoutError");
        assert.match((cause as Error).message, /the slot of (a|this) name is being moved/);
        return true;
      });
      for (const node of [source, target]) await node.send("CLUSTER", "SETSLOT", slot, "STABLE");
      assert.equal(await lease.release(), true);
    }
  }));

test("a node that does not answer keeps nobody from the names of the others", () =>
  inCluster(async (backends) => {
    for (const backend of backends) {
      const silent = (send: Backend["eval"]): Backend["eval"] => (script, keys, args) =>
        keys.length === 0 ? new Promise(() => {}) : send(script, keys, args);
      const lock = new RedisLock({ ...backend, eval: silent(backend.eval), evalsha: silent(backend.evalsha) }, "a");
      await (await lock.acquire({ timeout })).release();
    }
  }));
