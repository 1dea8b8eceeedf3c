/** A lease that changes hands, and a hold that is revoked: for all bodies, on real servers. */
import assert from "node:assert/strict";
import { LeaseLostError, RedisLock, RedisRwLock } from "../../lib/redis/mod.ts";
import { altered } from "./_altered.ts";
import { bodies } from "./_bodies.ts";
import { redisTest, until } from "./_clients.ts";

for (const [name, make] of Object.entries(bodies)) {
  redisTest(`a ${name}: another process adopts a lease, with the same token`, async ({ backend, connect }) => {
    const first = await make(backend, { ttl: 3000 }).held.acquire();
    const other = make(await connect(), { ttl: 20_000 });
    const adopted = await other.held.adopt(first.id);
    assert.ok(adopted);
    assert.equal(adopted.fencingToken, first.fencingToken);
    assert.notEqual(adopted.id, first.id);
    assert.equal(adopted.ttl, 20_000);
    assert.ok(adopted.held);
    await until(() => !first.held);
    assert.ok(first.signal.reason instanceof LeaseLostError);
    assert.equal(await first.release(), false);
    assert.equal(await other.held.adopt(first.id), undefined); // it is not held any more
    assert.equal(await adopted.verify(), true);
    assert.equal(await adopted.release(), true);
    assert.equal(await other.held.adopt(adopted.id), undefined);
  });

  redisTest(`a ${name}: a revoked holder finds out by its next renewal`, async ({ backend, connect }) => {
    const lease = await make(backend, { ttl: 3000 }).held.acquire();
    const aborted = new Promise((resolve) => lease.signal.addEventListener("abort", resolve));
    assert.equal(await make(await connect()).forceRelease(), true);
    await aborted;
    assert.ok(lease.signal.reason instanceof LeaseLostError);
    assert.equal(lease.held, false);
  });
}

for (const kind of ["lock", "semaphore"] as const) {
  const make = bodies[kind];
  redisTest(`a ${kind}: an adopter that ends delays the next waiter by its own ttl only`, async (setup) => {
    const first = await make(setup.backend, { ttl: 3_600_000, renew: false }).held.acquire();
    const adopted = await make(await setup.connect(), { ttl: 1300, renew: false }).held.adopt(first.id);
    const next = await make(setup.backend).held.acquire({ timeout: 60_000 });
    assert.equal(adopted!.held, false);
    await next.release();
  });
}

redisTest("a side of a read-write lock adopts leases of its own side only", async ({ backend }) => {
  const lock = new RedisRwLock(backend, "a");
  const reader = await lock.reader.acquire();
  assert.equal(await lock.writer.adopt(reader.id), undefined);
  await reader.release();
  const writer = await lock.writer.acquire();
  assert.equal(await lock.reader.adopt(writer.id), undefined);
  assert.equal(await writer.release(), true);
});

redisTest("ids that are no text are refused, and unknown ones are not held", async ({ backend }) => {
  const lock = new RedisLock(backend, "a");
  await assert.rejects(lock.adopt(5 as never), TypeError);
  await assert.rejects(lock.adopt(""), RangeError);
  assert.equal(await lock.adopt("unknown"), undefined);
});

redisTest("an adoption whose answer is lost is tried again, and finds its own id", async ({ backend }) => {
  const lock = new RedisLock(backend, "a", { ttl: 3000 });
  const lease = await lock.acquire();
  let lost = false;
  const flaky = altered(backend, async (run, _, args) => {
    const answer = await run();
    if (lost || args[1] !== lease.id) return answer;
    lost = true;
    throw new Error("the connection was lost");
  });
  const adopted = await new RedisLock(flaky, "a", { ttl: 3000 }).adopt(lease.id);
  assert.equal(lost, true);
  assert.equal(adopted!.fencingToken, lease.fencingToken);
  assert.equal(await adopted!.release(), true);
  assert.equal(await lease.release(), false);
});
