/** `inspect()`: holders and waiters, with their owners and times by the server's clock. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createClient, RESP_TYPES } from "redis";
import { type Inspection, RedisLock, RedisSemaphore } from "../../lib/redis/mod.ts";
import { bodies } from "./_bodies.ts";
import { redisTest, until, useNode } from "./_clients.ts";

redisTest("inspect returns holders and waiters with owner and times", async ({ server, backend, connect }) => {
  const far = await connect();
  const options = { ttl: 60_000, owner: "checkout 7" };
  const cases = [
    { make: bodies.lock, makeOther: bodies.lock, permits: 1 },
    { make: bodies.semaphore, makeOther: bodies.semaphore, permits: 1 },
    { make: bodies.key, makeOther: bodies.key, permits: 1 },
    { make: bodies.writer, makeOther: bodies.reader, permits: 1e9 },
  ];
  const clock = async () => {
    const [seconds, micros] = await server.send("TIME") as string[];
    return Number(seconds) * 1000 + Number(micros) / 1000;
  };
  for (const { make, makeOther, permits } of cases) {
    const { held: body, inspect } = make(backend, options);
    const other = makeOther(far).held;
    assert.deepEqual(await inspect(), { holders: [], waiters: [], waiting: 0, fence: 0, ttl: 0 });
    const before = await clock();
    const lease = await body.acquire();
    const between = await clock();
    const waiting = [other.acquire()];
    await until(async () => (await inspect()).waiting === 1);
    waiting.push(body.acquire());
    await until(async () => (await inspect()).waiting === 2);
    const after = await clock();
    const { holders, waiters, fence, ttl }: Inspection = await inspect();
    const [holder, ...more] = holders;
    assert.equal(more.length, 0);
    assert.deepEqual(
      [holder!.id, holder!.process, holder!.owner, holder!.fencingToken, holder!.permits],
      [lease.id, lease.id.slice(0, 8), "checkout 7", lease.fencingToken, permits],
    );
    assert.ok(holder!.since >= Math.floor(before) && holder!.since <= between, `${holder!.since}`);
    assert.ok(holder!.expiresIn > 50_000 && holder!.expiresIn <= 60_000);
    assert.equal(fence, lease.fencingToken);
    assert.ok(ttl > holder!.expiresIn);
    assert.deepEqual(waiters.map(({ owner }) => owner), [undefined, "checkout 7"]);
    assert.ok(!("owner" in waiters[0]!));
    assert.notEqual(waiters[0]!.process, holder!.process);
    assert.equal(waiters[1]!.process, holder!.process);
    for (const { since, expiresIn } of waiters) {
      assert.ok(since >= Math.floor(between) && since <= after + 1, `${since}`);
      assert.ok(expiresIn > 0);
    }
    assert.ok(waiters[0]!.since <= waiters[1]!.since);
    await lease.release();
    const next = await waiting[0]!;
    assert.equal(next.id, waiters[0]!.id);
    assert.equal((await inspect()).holders[0]!.owner, undefined); // handed off by push
    await next.release();
    const last = await waiting[1]!;
    assert.equal((await inspect()).holders[0]!.owner, "checkout 7");
    await last.extend();
    assert.equal((await inspect()).holders[0]!.owner, "checkout 7");
    await last.release();
  }
});

redisTest("inspect returns at most 1,000 waiters, and their number", async ({ server, backend }) => {
  // On a busy machine 1,050 signs of life take longer than a short ttl gives them.
  const lock = new RedisLock(backend, "a", { ttl: 600_000 });
  const semaphore = new RedisSemaphore(backend, "a", 1050, { ttl: 600_000 });
  const holder = await lock.acquire();
  const controller = new AbortController();
  const calls = Array.from({ length: 1050 }, () => lock.acquire({ signal: controller.signal }));
  const outcomes = Promise.allSettled(calls);
  // A call that fails meanwhile says why.
  await Promise.race([
    Promise.all(calls),
    until(async () => await server.send("ZCARD", "interlock:lock:3:{a}:queue") === 1050),
  ]);
  const { waiters, waiting } = await lock.inspect();
  assert.deepEqual([waiters.length, waiting, new Set(waiters.map(({ id }) => id)).size], [1000, 1050, 1000]);
  controller.abort();
  const reasons = (await outcomes).map((outcome) => outcome.status === "rejected" && outcome.reason);
  assert.ok(reasons.every((reason) => reason === controller.signal.reason));
  await holder.release();
  const leases = await Promise.all(Array.from({ length: 1050 }, () => semaphore.acquire()));
  assert.equal((await semaphore.inspect()).holders.length, 1050);
  await Promise.all(leases.map((lease) => lease.release()));
});

redisTest("inspect shows the same to a client that returns bytes", async ({ backend, connect }) => {
  const bytes = await connect({
    name: "bytes",
    connect: (url) =>
      useNode(createClient({ url, commandOptions: { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } } })),
  });
  for (const owner of [undefined, "a clerk"]) {
    const lock = new RedisLock(backend, "bytes", { owner });
    await lock.run(async () => {
      const text = (await lock.inspect()).holders.map(({ expiresIn: _, ...rest }) => rest);
      const { holders } = await new RedisLock(bytes, "bytes").inspect();
      assert.deepEqual(holders.map(({ expiresIn: _, ...rest }) => rest), text);
    });
  }
});

redisTest("an owner of any text is kept as it is", async ({ backend }) => {
  for (const owner of ["a", " two  words ", "ünïcode 🔒", "5 6 7", '"quoted"', "x".repeat(100)]) {
    for (const body of [new RedisLock(backend, owner, { owner }), new RedisSemaphore(backend, owner, 2, { owner })]) {
      const lease = await body.acquire();
      assert.equal((await body.inspect()).holders[0]!.owner, owner);
      await lease.release();
    }
  }
});
