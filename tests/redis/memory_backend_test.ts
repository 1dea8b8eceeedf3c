/** The backend in this process: the same locks without a server, on a clock of the test. */
import assert from "node:assert/strict";
import {
  LeaseLostError,
  memoryBackend,
  RedisKeyedMutex,
  RedisLock,
  RedisRwLock,
  RedisSemaphore,
} from "../../lib/redis/mod.ts";
import { MemoryData } from "../../lib/redis/store/memory_data.ts";
import { fakes, under } from "../internal/_fake_clocks.ts";
import { test } from "../_test.ts";
import { flushMicrotasks, watch, withFakeTime } from "../_tools.ts";

const memoryTest = (name: string, fn: Parameters<typeof withFakeTime>[0]) =>
  test(`memoryBackend: ${name}`, () => withFakeTime(fn));

memoryTest("a lease is renewed while it is held, and ends at once with its release", async (time) => {
  const lock = new RedisLock(memoryBackend(), "a", { ttl: 3000 });
  const lease = await lock.acquire();
  await time.pass(10_000, 100);
  assert.deepEqual([lease.held, lease.signal.aborted], [true, false]);
  assert.equal(await lock.tryAcquire(), undefined);
  assert.equal(await lease.release(), true);
  const next = await lock.acquire();
  assert.ok(next.fencingToken > lease.fencingToken);
  await next.release();
});

test("memoryBackend: without randomness it says what the run-time lacks", () => {
  const message = "Cannot make the ids of leases: this run-time has no crypto.getRandomValues";
  Object.defineProperty(crypto, "getRandomValues", { value: undefined, configurable: true });
  try {
    assert.throws(memoryBackend, { name: "SyncError", message });
  } finally {
    delete (crypto as Partial<Crypto>).getRandomValues; // that of its prototype is left
  }
});

test("memoryBackend: tokens grow and are safe integers also on the date of a far future", () =>
  under(fakes.sinon!, async (fake) => {
    fake.advance(Date.UTC(2300, 0));
    const lock = new RedisLock(memoryBackend(), "a");
    const tokens: number[] = [];
    for (let i = 0; i < 3; i++) tokens.push(await lock.run(({ fencingToken }) => fencingToken));
    assert.ok(tokens.every((token, i) => Number.isSafeInteger(token) && token > (tokens[i - 1] ?? 0)), `${tokens}`);
  }));

memoryTest("a waiter is granted with the release, however shortly after another hold or wait", async () => {
  const lock = new RedisLock(memoryBackend(), "a");
  for (let round = 0; round < 3; round++) {
    const lease = await lock.acquire();
    const next = watch(lock.acquire());
    await flushMicrotasks();
    await lease.release();
    await flushMicrotasks();
    assert.equal(next.state, "fulfilled", `in round ${round}`);
    await next.value!.release();
  }
});

memoryTest("a lease that is not renewed ends, and the first waiter of the queue has the next one", async (time) => {
  const lock = new RedisLock(memoryBackend(), "a", { ttl: 1000, renew: false });
  const lease = await lock.acquire();
  const [first, second] = [watch(lock.acquire()), watch(lock.acquire())];
  await time.pass(980);
  assert.deepEqual([lease.held, first.state], [true, "pending"]);
  await time.pass(50);
  assert.deepEqual([lease.held, first.state, second.state], [false, "fulfilled", "pending"]);
  assert.ok(lease.signal.reason instanceof LeaseLostError);
  assert.equal(await lease.release(), false);
  await time.pass(1100);
  assert.equal(second.state, "fulfilled");
  await time.pass(2100);
});

memoryTest("an adopter that lets its lease end frees the name", async (time) => {
  const backend = memoryBackend();
  const first = await new RedisLock(backend, "a", { ttl: 60_000, renew: false }).acquire();
  const adopted = await new RedisLock(backend, "a", { ttl: 2000, renew: false }).adopt(first.id);
  await time.pass(2000);
  assert.equal(adopted!.held, false);
  assert.equal((await new RedisLock(backend, "a").inspect()).holders.length, 0);
  assert.equal(await first.verify(), false);
});

memoryTest("looking at an idle name does not keep it", async (time) => {
  const lock = new RedisLock(memoryBackend(), "a", { ttl: 2000 });
  const lease = await lock.acquire();
  assert.equal((await lock.inspect()).ttl, 62_000);
  await lease.release();
  for (const rest of [60_000, 40_000, 20_000, 0]) {
    const { fence, ttl } = await lock.inspect();
    assert.deepEqual([fence, Math.round(ttl)], [rest && lease.fencingToken, rest]);
    await time.pass(20_000, 1000);
  }
});

memoryTest(
  "idle names are dropped after a minute, also those whose leases have ended by themselves",
  async (time) => {
    const backend = memoryBackend();
    const kept = new RedisLock(backend, "kept", { ttl: 20_000, renew: false });
    const lease = await kept.acquire();
    const ended = new RedisLock(backend, "ended", { ttl: 2000, renew: false });
    await ended.acquire();
    await time.pass(62_100, 1000);
    assert.deepEqual([(await ended.inspect()).fence, (await kept.inspect()).fence], [0, lease.fencingToken]);
  },
);

test("memoryBackend: of its data, no more than half or 100 is over, also behind some that is not", () => {
  const data = new MemoryData<{ readonly isOver: boolean }>();
  for (let i = 0; i < 1000; i++) {
    data.of(`${i}`, () => ({ isOver: i % 100 !== 0 }));
    const { length } = [...data.values()];
    assert.ok(length <= 110, `${length}`);
  }
});

memoryTest("a release ends, also behind two extensions that wait for a renewal", async (time) => {
  const lease = await new RedisLock(memoryBackend(), "a", { ttl: 600 }).acquire();
  const extensions = [watch(lease.extend())];
  time.advance(300); // it is due as soon as the first extension has ended
  extensions.push(watch(lease.extend()));
  const releasing = watch(lease.release());
  for (let round = 0; round < 20; round++) await time.pass(100, 50);
  assert.deepEqual([releasing.state, lease.held], ["fulfilled", false]);
  assert.ok(extensions.every(({ state }) => state !== "pending"));
});

memoryTest("an extended lease lasts that long, and a shortened one no longer", async (time) => {
  const lock = new RedisLock(memoryBackend(), "a", { ttl: 1000, renew: false });
  const lease = await lock.acquire();
  await lease.extend(60_000);
  const next = watch(lock.acquire());
  await time.pass(30_000, 100);
  assert.deepEqual([lease.held, next.state], [true, "pending"]);
  await lease.extend(500);
  await time.pass(600);
  assert.deepEqual([lease.held, next.state], [false, "fulfilled"]);
  await time.pass(3000, 100);
});

memoryTest("two calls are two servers; names, kinds and prefixes are apart", async () => {
  const [one, two] = [memoryBackend(), memoryBackend()];
  const apart = [
    new RedisLock(one, "a"),
    new RedisLock(two, "a"),
    new RedisLock(one, "b"),
    new RedisLock(one, "a", { prefix: "other:" }),
    new RedisSemaphore(one, "a", 1),
    new RedisKeyedMutex(one).at("a"),
  ];
  const leases = await Promise.all(apart.map((body) => body.acquire()));
  assert.equal(await new RedisLock(one, "a").tryAcquire(), undefined);
  assert.equal(new Set(leases.map(({ id }) => id)).size, leases.length);
  await Promise.all(leases.map((lease) => lease.release()));
});

memoryTest("a semaphore serves large requests in their turn, and each call by its own limit", async () => {
  const backend = memoryBackend();
  const semaphore = new RedisSemaphore(backend, "a", 3);
  const [one, two] = [await semaphore.acquire(), await semaphore.acquire({ permits: 2 })];
  const large = watch(semaphore.acquire({ permits: 3 }));
  const small = watch(semaphore.acquire());
  await one.release();
  await flushMicrotasks();
  assert.deepEqual([large.state, small.state], ["pending", "pending"]);
  const other = watch(new RedisSemaphore(backend, "a", 4).acquire());
  await flushMicrotasks();
  assert.equal(other.state, "pending"); // behind the others, although it would fit
  await two.release();
  await flushMicrotasks();
  assert.deepEqual([large.state, small.state], ["fulfilled", "pending"]);
  await large.value!.release();
  await (await small.promise).release();
  await (await other.promise).release();
  await (await new RedisSemaphore(backend, "a", 4).acquire({ permits: 4 })).release();
});

memoryTest("readers share, a writer is alone, in the order of arrival", async () => {
  const lock = new RedisRwLock(memoryBackend(), "a");
  const readers = [await lock.reader.acquire(), await lock.reader.acquire()];
  const writer = watch(lock.writer.acquire());
  const late = watch(lock.reader.acquire());
  for (const reader of readers) await reader.release();
  await flushMicrotasks();
  assert.deepEqual([writer.state, late.state], ["fulfilled", "pending"]);
  await writer.value!.release();
  await (await late.promise).release();
});

memoryTest("adopt and forceRelease end the hold", async (time) => {
  const backend = memoryBackend();
  const lock = new RedisLock(backend, "a", { owner: "first" });
  const lease = await lock.acquire();
  const waiter = watch(lock.acquire());
  await time.pass(300);
  const adopted = await new RedisLock(backend, "a", { owner: "second" }).adopt(lease.id);
  assert.equal(await lease.verify(), false);
  assert.deepEqual([lease.held, adopted!.held, waiter.state], [false, true, "pending"]);
  assert.equal(adopted!.fencingToken, lease.fencingToken);
  assert.equal(await lock.adopt(lease.id), undefined);
  const { holders, waiters, waiting } = await lock.inspect();
  assert.deepEqual([holders.map(({ owner }) => owner), waiters.length, waiting], [["second"], 1, 1]);
  assert.equal(await lock.forceRelease(), true);
  await time.pass(10);
  assert.equal(await adopted!.verify(), false);
  assert.deepEqual([adopted!.held, waiter.state], [false, "fulfilled"]);
  await waiter.value!.release();
  assert.equal(await lock.forceRelease(), false);
});

memoryTest("a revoked hold ends with its next renewal, or when it is verified", async (time) => {
  for (const renew of [true, false]) {
    const lock = new RedisLock(memoryBackend(), "a", { renew });
    const revoked = await lock.acquire();
    assert.equal(await lock.forceRelease(), true);
    assert.equal(revoked.held, true);
    if (renew) await time.pass(10_100, 100);
    else assert.equal(await revoked.verify(), false);
    assert.deepEqual([revoked.held, revoked.signal.aborted], [false, true]);
  }
});

memoryTest("inspect and verify show the state; an unused name is dropped after a minute", async (time) => {
  const lock = new RedisLock(memoryBackend(), "a", { ttl: 2000 });
  assert.deepEqual(await lock.inspect(), { holders: [], waiters: [], waiting: 0, fence: 0, ttl: 0 });
  const lease = await lock.acquire();
  assert.equal(await lease.verify(), true);
  const { holders: [holder], fence } = await lock.inspect();
  assert.deepEqual([holder?.id, holder?.fencingToken, holder?.permits], [lease.id, fence, 1]);
  assert.equal(holder!.expiresIn, 2000);
  await lease.release();
  assert.equal((await lock.inspect()).fence, fence);
  await time.pass(60_100, 1000);
  assert.equal((await lock.inspect()).fence, 0);
  const next = await lock.acquire();
  assert.ok(next.fencingToken > fence);
  await next.release();
});

memoryTest("a lease shows no state that can be written, and none as JSON", async () => {
  const lock = new RedisLock(memoryBackend(), "a");
  const lease = Object.freeze(await lock.acquire());
  assert.equal(JSON.stringify(lease), "{}");
  assert.throws(() => Object.assign(lease, { held: false, fencingToken: 1 }), TypeError);
  assert.equal(lease.held, true);
  assert.equal(await lease.release(), true);
  assert.equal(lease.held, false);
});

memoryTest("it says what it cannot do", async () => {
  const backend = memoryBackend();
  await assert.rejects(backend.evalsha("", [], []), /in memory/);
});

test("memoryBackend: a thousand waiters on the real clock, one after the other", async () => {
  const lock = new RedisLock(memoryBackend(), "a");
  let inside = 0;
  const order: number[] = [];
  await Promise.all(Array.from({ length: 1000 }, (_, i) =>
    lock.run(() => {
      assert.equal(++inside, 1);
      order.push(i);
      inside--;
    })));
  assert.deepEqual(order, Array.from({ length: 1000 }, (_, i) => i));
});
