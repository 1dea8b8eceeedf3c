/** The backend in this process: the same locks without a server, on a clock of the test. */
import assert from "node:assert/strict";
import { memoryBackend, RedisKeyedMutex, RedisLock, RedisSemaphore } from "../../lib/redis/mod.ts";
import { MemoryData } from "../../lib/redis/store/memory_data.ts";
import { fakes, under } from "../internal/_fake_clocks.ts";
import { test } from "../_test.ts";
import { watch, withFakeTime } from "../_tools.ts";

const memoryTest = (name: string, fn: Parameters<typeof withFakeTime>[0]) =>
  test(`memoryBackend: ${name}`, () => withFakeTime(fn));

test("memoryBackend: tokens grow and are safe integers also on the date of a far future", () =>
  under(fakes.sinon!, async (fake) => {
    fake.advance(Date.UTC(2300, 0));
    const lock = new RedisLock(memoryBackend(), "a");
    const tokens: number[] = [];
    for (let i = 0; i < 3; i++) tokens.push(await lock.run(({ fencingToken }) => fencingToken));
    assert.ok(tokens.every((token, i) => Number.isSafeInteger(token) && token > (tokens[i - 1] ?? 0)), `${tokens}`);
  }));

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

memoryTest("idle names are dropped after a minute, also those whose leases have expired", async (time) => {
  const backend = memoryBackend();
  const kept = new RedisLock(backend, "kept", { ttl: 20_000, renew: false });
  const lease = await kept.acquire();
  const ended = new RedisLock(backend, "ended", { ttl: 2000, renew: false });
  await ended.acquire();
  await time.pass(62_100, 1000);
  assert.deepEqual([(await ended.inspect()).fence, (await kept.inspect()).fence], [0, lease.fencingToken]);
});

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
