/** A lease: `verify`, clocks that disagree, and its signal. */
import assert from "node:assert/strict";
import { acquireAll } from "../../mod.ts";
import { type Lease, LeaseLostError, memoryBackend, RedisError, RedisLock } from "../../lib/redis/mod.ts";
import { test } from "../_test.ts";
import { flushMicrotasks, watch } from "../_tools.ts";
import { leakWarnings } from "../_warnings.ts";
import { bodies } from "./_bodies.ts";
import { redisTest } from "./_clients.ts";
import { fakeTimeTest, nothing, scripted } from "./_scripted.ts";

redisTest("verify checks with the server and extends nothing", async ({ server, backend }) => {
  for (const [name, make] of Object.entries(bodies)) {
    const body = make(backend, { ttl: 60_000 }).held;
    const lease = await body.acquire();
    const { expiresAt } = lease;
    assert.equal(await lease.verify(), true, name);
    assert.ok(lease.expiresAt <= expiresAt);
    assert.equal(lease.held, true);
    await server.send("FLUSHALL");
    assert.equal(await lease.verify(), false, name);
    assert.deepEqual([lease.held, lease.signal.aborted], [false, true]);
    assert.ok(lease.signal.reason instanceof LeaseLostError);
    assert.equal(await lease.verify(), false);
    assert.equal(await lease.release(), false);
    const next = await body.acquire();
    await next.release();
    assert.equal(await next.verify(), false);
  }
});

fakeTimeTest("verify rejects while Redis does not reply, and the lease goes on", async (time) => {
  const backend = scripted((command) => command === "verify" ? nothing : undefined);
  const lease = await new RedisLock(backend, "a").acquire();
  const verified = watch(lease.verify());
  await time.pass(5100, 100);
  assert.ok(verified.reason instanceof RedisError);
  assert.match(verified.reason.message, /^Cannot verify lock "a"/);
  assert.equal(lease.held, true);
  assert.equal(await lease.release(), true);
});

/** Moves the wall clock alone. */
function jump(ms: number): Disposable {
  const { now } = Date;
  Date.now = () => now.call(Date) + ms;
  return { [Symbol.dispose]: () => Date.now = now };
}

for (const ms of [-3_600_000, -1500, 1500, 3_600_000]) {
  fakeTimeTest(`in doubt, not held: the wall clock alone jumps by ${ms} ms`, async (time) => {
    let renewals = 0;
    const backend = scripted((command) => {
      if (command === "renew") renewals++;
    });
    const lease = await new RedisLock(backend, "a").acquire();
    time.advance(500);
    assert.equal(lease.held, true);
    using _ = jump(ms);
    assert.equal(lease.held, false);
    assert.equal(lease.held, false);
    time.advance(1);
    await flushMicrotasks();
    assert.equal(renewals, 1); // at once, and only one
    assert.equal(lease.held, true);
    assert.equal(lease.signal.aborted, false);
    assert.equal(await lease.release(), true);
  });
}

fakeTimeTest("in doubt, not held: the signal aborts if the renewal is rejected", async (time) => {
  const backend = scripted((command) => command === "renew" ? [0] : undefined);
  const lease = await new RedisLock(backend, "a").acquire();
  const { signal } = lease;
  using _ = jump(60_000); // the monotonic clock stood still while the machine was suspended
  assert.deepEqual([lease.held, signal.aborted], [false, false]);
  time.advance(1);
  await flushMicrotasks();
  assert.deepEqual([lease.held, signal.aborted], [false, true]);
  assert.equal(await lease.release(), false);
});

fakeTimeTest("in doubt, not held: suspended while the reply to the acquire was in flight", async (time) => {
  let answer = () => {};
  const backend = scripted(async (command) => {
    if (command === "acquire") await new Promise<void>((resolve) => answer = resolve);
  });
  const acquired = watch(new RedisLock(backend, "a").acquire());
  await flushMicrotasks();
  using _ = jump(60_000);
  answer();
  await flushMicrotasks();
  const lease = acquired.value!;
  assert.equal(lease.held, false);
  time.advance(1);
  await flushMicrotasks();
  assert.equal(lease.held, true);
  await lease.release();
});

fakeTimeTest("in doubt, not held: without renewal, verify or extend confirms", async (time) => {
  const backend = scripted(() => undefined);
  const lock = new RedisLock(backend, "a", { renew: false });
  for (const confirm of [(lease: Lease) => lease.verify(), (lease: Lease) => lease.extend()]) {
    const lease = await lock.acquire();
    using _ = jump(2000);
    assert.equal(lease.held, false);
    time.advance(10);
    await flushMicrotasks();
    assert.equal(lease.held, false);
    await confirm(lease);
    assert.equal(lease.held, true);
    await lease.release();
  }
});

fakeTimeTest("a tenth of a short ttl is enough for doubt, and less is none", async () => {
  const lease = await new RedisLock(scripted(() => undefined), "a", { ttl: 600, renew: false }).acquire();
  for (const [ms, held] of [[55, true], [-55, true], [65, false], [-65, false]] as const) {
    using _ = jump(ms);
    assert.equal(lease.held, held, `${ms} ms`);
  }
  assert.equal(lease.held, true); // the clocks agree again
  await lease.release();
});

test("any number of functions may listen to the signal of a lease, and of a group with one", async () => {
  const warnings = await leakWarnings(async () => {
    const lease = await new RedisLock(memoryBackend(), "a").acquire();
    const group = await acquireAll([new RedisLock(memoryBackend(), "b")]);
    for (const { signal } of [lease, group]) {
      for (let i = 0; i < 20; i++) signal.addEventListener("abort", () => {});
    }
    await group.release();
    await lease.release();
  });
  assert.deepEqual(warnings, []);
});
