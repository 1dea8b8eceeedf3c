/** Three nodes of a cluster, through the cluster clients of both libraries. */
import assert from "node:assert/strict";
import {
  type Acquirable,
  type Backend,
  type Lease,
  RedisKeyedMutex,
  RedisLock,
  RedisRateLimiter,
  RedisRwLock,
  RedisSemaphore,
} from "../../lib/redis/mod.ts";
import { slotOf } from "../redis/_slots.ts";
import { test } from "../_test.ts";
import { until } from "../redis/_clients.ts";
import { inCluster, namesOnEach, nodeOf } from "../redis/_cluster.ts";
import type { Server } from "../redis/_server.ts";
import { aheadBy } from "../redis/faults/_clock.ts";

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

/** One of each class. */
function bodiesOf(backend: Backend, name: string): Acquirable<Lease>[] {
  return [
    new RedisLock(backend, name, { ttl }),
    new RedisSemaphore(backend, name, 1, { ttl }),
    new RedisRwLock(backend, name, { ttl }).writer,
    new RedisKeyedMutex(backend, { ttl }).at(name),
  ];
}

/** Asks again where a busy machine took longer than a command may: a third of the ttl. */
async function answered<T>(ask: () => Promise<T>, tries = 5): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (tries === 0 || !/no answer/.test((error as Error).message)) throw error;
    return await answered(ask, tries - 1);
  }
}

/** Waits until a lease would have ended without its renewals, or is lost. */
async function outlives({ lease, expiresAt }: { lease: Lease; expiresAt: number }): Promise<void> {
  await until(() => Date.now() > expiresAt || !lease.held, timeout);
  assert.deepEqual([lease.held, lease.signal.aborted], [true, false]);
}

async function acquired(body: Acquirable<Lease>): Promise<{ lease: Lease; expiresAt: number }> {
  const lease = await body.acquire({ timeout });
  return { lease, expiresAt: lease.expiresAt };
}

test("a cluster, through ioredis and node-redis", () => inCluster(works));

/** From the beginning of a slot's migration to its end, without a key that has moved. */
async function inOpenSlot([here, other]: [Backend, Backend], nodes: Server[], name: string): Promise<void> {
  const bodies = bodiesOf(here, name);
  const leases = await Promise.all(bodies.map(acquired));
  const waiting = Promise.all(bodiesOf(other, name).map((body) => body.acquire({ timeout })));
  waiting.catch(() => {}); // in case that something else fails before
  const keys = ["lock", "semaphore", "rw", "keyed"].map((kind) => `interlock:${kind}:3:{${name}}`);
  const slot = slotOf(keys[0]!);
  const source = nodeOf(slot);
  for (const key of keys) await until(async () => await nodes[source]!.send("ZCARD", `${key}:queue`) === 1);
  const ids = await Promise.all(nodes.map(async (node) => String(await node.send("CLUSTER", "MYID"))));
  const target = (source + 1) % 3;
  await nodes[target]!.send("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[source]!);
  await nodes[source]!.send("CLUSTER", "SETSLOT", slot, "MIGRATING", ids[target]!);
  await Promise.all(leases.map(outlives));
  for (const { lease } of leases) {
    assert.equal(await answered(() => lease.verify()), true);
    await answered(() => lease.extend(2 * ttl));
  }
  assert.deepEqual(await Promise.all(leases.map(({ lease }) => lease.release())), [true, true, true, true]);
  for (const node of [nodes[source]!, nodes[target]!]) await node.send("CLUSTER", "SETSLOT", slot, "STABLE");
  for (const lease of await waiting) assert.equal(await lease.release(), true);
}

/** Behind a release in an open slot the queue is served, for which no caller waits: ends when that has ended, too. */
function settled(fn: Parameters<typeof inCluster>[0]): Promise<void> {
  return inCluster(async (backends, nodes) => {
    let inFlight = 0;
    const counted = (send: Backend["eval"]): Backend["eval"] => async (...args) => {
      inFlight++;
      return await send(...args).finally(() => inFlight--);
    };
    await fn(backends.map((one) => ({ ...one, eval: counted(one.eval), evalsha: counted(one.evalsha) })), nodes);
    await until(() => inFlight === 0, timeout);
  });
}

test("leases outlive their ttl and are extended, verified and released while their slot is open", () =>
  settled(async ([io, node], nodes) => {
    await Promise.all([inOpenSlot([io!, node!], nodes, "open"), inOpenSlot([node!, io!], nodes, "other")]);
  }));

for (const open of [false, true]) {
  test(`under maxmemory leases are released${open ? " while their slot is open" : ""}`, () =>
    settled(async (backends, nodes) => {
      for (const [i, backend] of backends.entries()) {
        const name = `full${i}`;
        const pair = new RedisSemaphore(backend, name, 2, { ttl, prefix: "pair:" });
        const bodies = [...bodiesOf(backend, name), pair, pair]; // the last two leave each other's permit
        const leases = await Promise.all(bodies.map((body) => body.acquire({ timeout })));
        const slot = slotOf(`{${name}}`);
        const [source, target] = [nodes[nodeOf(slot)]!, nodes[(nodeOf(slot) + 1) % 3]!];
        if (open) {
          await target.send("CLUSTER", "SETSLOT", slot, "IMPORTING", String(await source.send("CLUSTER", "MYID")));
          await source.send("CLUSTER", "SETSLOT", slot, "MIGRATING", String(await target.send("CLUSTER", "MYID")));
        }
        await source.send("CONFIG", "SET", "maxmemory", "1");
        for (const lease of leases) assert.equal(await lease.release(), true);
        await source.send("CONFIG", "SET", "maxmemory", "0");
        for (const node of open ? [source, target] : []) await node.send("CLUSTER", "SETSLOT", slot, "STABLE");
      }
    }));
}

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

/** The answers of a backend. */
interface Answers {
  all: number;
  /** "Too late": by the time of another node, or by that of the same node as first known. */
  late: number;
}

function counting(backend: Backend, answers: Answers): Backend {
  return {
    ...backend,
    eval: async (...args) => {
      const answer = await backend.eval(...args);
      answers.all++;
      if (Array.isArray(answer) && answer[0] === -2) answers.late++;
      return answer;
    },
  };
}

/** A name on each node: its leases outlive their ttl, are extended, verified, and handed to a waiter. */
async function keeps([here, other]: [Backend, Backend], names: string[]): Promise<void> {
  await Promise.all(names.flatMap((name) => {
    const others = bodiesOf(other, name);
    return bodiesOf(here, name).map(async (body, i) => {
      const held = await acquired(body);
      const { lease } = held;
      const waiting = others[i]!.acquire({ timeout });
      await outlives(held);
      await answered(() => lease.extend(2 * ttl));
      assert.deepEqual([await answered(() => lease.verify()), await lease.release()], [true, true]);
      const next = await waiting;
      assert.ok(next.fencingToken > lease.fencingToken);
      assert.equal(await next.release(), true);
    });
  }));
  await Promise.all(names.map(async (name) => {
    const limiters = [here, other].map((of) => new RedisRateLimiter(of, name, 1, 300));
    const start = performance.now();
    for (const limiter of [...limiters, ...limiters]) await limiter.acquire({ timeout });
    assert.ok(performance.now() - start >= 899);
  }));
}

for (const seconds of [1, 30, 600]) {
  test(`nodes whose clocks are ${seconds} s ahead and behind keep all leases`, () =>
    inCluster(async (backends) => {
      const skews = [0, seconds, -seconds];
      // Without a key, any node answers: here always the one that is ahead.
      const skewOf = ([key]: readonly string[]) => String(key === undefined ? seconds : skews[nodeOf(slotOf(key))]);
      const answers: Answers = { all: 0, late: 0 };
      const [io, node] = backends.map((backend) => counting(aheadBy(backend, skewOf), answers));
      const names = namesOnEach(2);
      // The first command for a name brings its node's time.
      for (const backend of [io!, node!]) {
        await Promise.all(names.map((name) => new RedisLock(backend, name).run(() => {}, { timeout })));
      }
      Object.assign(answers, { all: 0, late: 0 });
      await Promise.all([
        keeps([io!, node!], names.filter((_, i) => i % 2 === 0)),
        keeps([node!, io!], names.filter((_, i) => i % 2 === 1)),
      ]);
      assert.ok(answers.late < answers.all / 10, `${answers.late} of ${answers.all} commands came too late`);
    }));
}
