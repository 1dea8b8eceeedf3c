/** Leases on every kind of replaced clock, and after it is gone. */
import assert from "node:assert/strict";
import { type Lease, memoryBackend, RedisLock, RedisRateLimiter, RedisSemaphore } from "../../lib/redis/mod.ts";
import { test } from "../_test.ts";
import { flushMicrotasks, until, watch } from "../_tools.ts";
import { type Fake, fakes, sinon, under } from "../internal/_fake_clocks.ts";
import { scripted } from "./_scripted.ts";

async function pass(fake: Fake, ms: number, step = 10): Promise<void> {
  for (let passed = 0; passed < ms; passed += step) {
    fake.advance(step);
    await flushMicrotasks();
  }
}

const handMade = fakes["hand-made, with performance"]!;

function onEachClock(name: string, fn: (make: () => Fake, clock: string) => Promise<void>): void {
  for (const [clock, make] of Object.entries(fakes)) test(`${clock}: ${name}`, () => fn(make, clock));
}

function underEachClock(name: string, fn: (fake: Fake, clock: string) => Promise<void>): void {
  onEachClock(name, (make, clock) => under(make, (fake) => fn(fake, clock)));
}

/** Some of these clocks leave `performance` as it is: a lease has to last longer than a busy machine takes for the test. */
const LONG = 60_000;

underEachClock("a lease is renewed while it is held, and a waiter goes on waiting", async (fake) => {
  const lock = new RedisLock(memoryBackend(), "a", { ttl: LONG });
  const lease = await lock.acquire();
  const waiter = watch(lock.acquire());
  await pass(fake, 5 * LONG, 1000);
  assert.deepEqual([lease.held, lease.signal.aborted, waiter.state], [true, false, "pending"]);
  assert.equal(await lease.release(), true);
  await flushMicrotasks();
  assert.equal(waiter.state, "fulfilled");
  await waiter.value!.release();
});

underEachClock("a lease that is not renewed ends, and the next waiter holds", async (fake) => {
  const semaphore = new RedisSemaphore(memoryBackend(), "a", 1, { ttl: LONG, renew: false });
  const lease = await semaphore.acquire();
  const waiter = watch(semaphore.acquire());
  await pass(fake, 50_000, 1000);
  assert.deepEqual([lease.held, waiter.state], [true, "pending"]);
  await pass(fake, 20_000, 1000);
  assert.deepEqual([lease.held, lease.signal.aborted, waiter.state], [false, true, "fulfilled"]);
  assert.equal(await lease.release(), false);
  await waiter.value!.release();
});

const backends = { "in memory": memoryBackend, "over a server": () => scripted(() => undefined) };

for (const [what, connect] of Object.entries(backends)) {
  const backend = connect();

  onEachClock(`leases left on it cost no later lease its renewal, ${what}`, async (make, clock) => {
    const lock = (text: string) => new RedisLock(backend, text, { ttl: 3000 });
    let left: Lease[] = [];
    await under(make, async (fake) => {
      left = await Promise.all([lock(`left ${clock}`).acquire(), lock(`left ${clock} 2`).acquire()]);
      await pass(fake, 5000);
    });
    const lease = await lock(`later ${clock}`).acquire();
    const { expiresAt } = lease;
    await until(() => lease.expiresAt > expiresAt || !lease.held);
    assert.deepEqual([lease.held, lease.signal.aborted], [true, false]);
    for (const one of [lease, ...left]) await one.release();
  });

  onEachClock(`calls left on it in flight are granted on the next clock, ${what}`, async (make) => {
    const backend = connect();
    const fake = make();
    fake.advance(10);
    const call = (name: string, timeout: number) => new RedisLock(backend, name, { ttl: 3000 }).acquire({ timeout });
    const calls = [call("a", Infinity), call("b", 1000)];
    fake.restore(); // before the answers
    for (const call of calls) {
      const lease = await call;
      assert.equal(lease.signal.aborted, false, String(lease.signal.reason));
      assert.equal(await lease.release(), true);
    }
  });
}

underEachClock("a clock that is moved before a store in memory has answered fails no call", async (fake) => {
  const backend = memoryBackend();
  const call = new RedisLock(backend, "a").acquire();
  const start = new RedisRateLimiter(backend, "a", 1, 1000).acquire();
  fake.advance(20_000);
  await start;
  assert.equal(await (await call).release(), true);
});

underEachClock("a rate limit starts as many as it may, and the rest in their turn", async (fake) => {
  const limiter = new RedisRateLimiter(memoryBackend(), "a", 2, 1000);
  const starts = Array.from({ length: 5 }, () => watch(limiter.acquire()));
  const started = () => starts.filter(({ state }) => state === "fulfilled").length;
  await flushMicrotasks();
  assert.equal(started(), 2);
  await pass(fake, 900);
  assert.equal(started(), 2);
  await pass(fake, 900); // 800 more than is due: on a busy machine, real time passes between the starts
  assert.equal(started(), 4);
  await pass(fake, 1200);
  assert.equal(started(), 5);
});

onEachClock("starts on a clock that was ahead make no later call wait longer than an interval", async (make) => {
  const limiter = new RedisRateLimiter(memoryBackend(), "a", 1, 1000);
  await under(make, async (fake) => {
    await pass(fake, 20_000);
    await limiter.acquire();
    await flushMicrotasks();
  });
  await under(handMade, async (fake) => {
    for (let i = 0; i < 4; i++) {
      const start = watch(limiter.acquire());
      await pass(fake, 1500);
      assert.equal(start.state, "fulfilled");
    }
  });
});

onEachClock("a call that sleeps on a clock that is gone starts ahead of the next one", async (make) => {
  const limiter = new RedisRateLimiter(memoryBackend(), "a", 1, 1000);
  const order: string[] = [];
  const call = (name: string) => void limiter.acquire().then(() => order.push(name));
  await under(make, async () => {
    await limiter.acquire();
    call("sleeper");
    await flushMicrotasks();
  });
  await under(handMade, async (fake) => {
    call("newcomer");
    await pass(fake, 3000);
    assert.deepEqual(order, ["sleeper", "newcomer"]);
  });
});

test("queueMicrotask replaced: a store in memory hands over, and a start of then holds up no later one", async () => {
  const backend = memoryBackend();
  const limiter = new RedisRateLimiter(backend, "a", 2, 1);
  await under(() => sinon(["queueMicrotask"]), async () => {
    await limiter.acquire();
    const lock = new RedisLock(backend, "a");
    const lease = await lock.acquire();
    const waiter = watch(lock.acquire());
    await lease.release();
    await flushMicrotasks();
    assert.equal(waiter.state, "fulfilled");
    await waiter.value!.release();
  });
  for (let i = 0; i < 4; i++) await limiter.acquire({ timeout: 1000 });
});

test("a waiter does not ask without end once a replaced clock that was ahead is gone", async () => {
  const lock = new RedisLock(memoryBackend(), "a");
  const age = performance.now(); // the replaced clock begins at 0
  let lease!: Lease;
  await under(handMade, async (fake) => {
    fake.advance(age + 60_000);
    lease = await lock.acquire();
    await flushMicrotasks();
  });
  await assert.rejects(lock.acquire({ timeout: 50 }), { name: "TimeoutError" });
  await lease.release();
});
