/** A lease that is lost: its event, its metric, and one warning for each client. */
import assert from "node:assert/strict";
import { memoryBackend, RedisLock } from "../../lib/redis/mod.ts";
import { Measurements, Recording } from "../diagnostics/_tools.ts";
import { test } from "../_test.ts";
import { flushMicrotasks, watch } from "../_tools.ts";
import { closable, fakeTimeTest, scripted } from "./_scripted.ts";
import { Warnings } from "./_warnings.ts";

/** Forgets its holds, as after a flush. */
function forgetful() {
  return scripted((command) => /^(renew|verify)$/.test(command) ? [0] : undefined);
}

fakeTimeTest("a lost lease has the outcome lost in its event and in the metrics", async (time) => {
  using warnings = new Warnings();
  using recording = new Recording();
  using measurements = new Measurements();
  const lock = new RedisLock(forgetful(), "orders", { ttl: 3000 });
  await (await lock.acquire()).release();
  const lease = await lock.acquire();
  time.advance(1001);
  await flushMicrotasks();
  assert.equal(lease.signal.aborted, true);
  assert.deepEqual(recording.lines.slice(-3), [
    "release redis-lock orders",
    "grant redis-lock orders",
    "release redis-lock orders lost",
  ]);
  assert.deepEqual([...measurements.values].slice(-2), [
    ["interlock.hold.duration redis-lock orders", 0],
    ["interlock.hold.duration redis-lock orders lost", 1.001],
  ]);
  assert.equal(warnings.seen.length, 1);
});

fakeTimeTest("each renewal that fails or has no answer counts once in the metrics", async (time) => {
  using measurements = new Measurements();
  const failures = () => measurements.values.get("interlock.renewal_failures redis-lock orders");
  const fail = () => Promise.reject(new Error("Socket closed unexpectedly"));
  let reject!: (reason: Error) => void;
  const late = new Promise<never>((_, fail) => reject = fail);
  const renewals = [undefined, fail, undefined, () => late, undefined];
  let sent = 0;
  const backend = scripted((command) => command === "renew" ? renewals[sent++]?.() : undefined);
  const lease = await new RedisLock(backend, "orders", { ttl: 3000 }).acquire();
  const failuresAtRenewal = async (count: number) => {
    while (sent < count) await time.pass(50, 50);
    return failures();
  };
  assert.equal(await failuresAtRenewal(1), undefined);
  assert.equal(await failuresAtRenewal(3), 1);
  assert.equal(await failuresAtRenewal(4), 1);
  assert.equal(await failuresAtRenewal(5), 2);
  reject(new Error("Socket closed unexpectedly"));
  await flushMicrotasks();
  assert.equal(failures(), 2);
  assert.equal(lease.held, true);
  await lease.release();
});

fakeTimeTest("a lost lease is a warning again after ten minutes without a loss, and not before", async (time) => {
  using warnings = new Warnings();
  const backend = forgetful();
  const loseAfter = async (ms: number) => {
    await time.pass(ms);
    await new RedisLock(backend, "orders", { ttl: 3000, renew: false }).acquire().then((lease) => lease.verify());
    return warnings.seen.length;
  };
  assert.equal(await loseAfter(0), 1);
  assert.equal(await loseAfter(599_000), 1);
  assert.equal(await loseAfter(599_000), 1);
  assert.equal(await loseAfter(601_000), 2);
  assert.equal(await loseAfter(1000), 2);
});

fakeTimeTest("the first lost lease of each client is a warning that names it and the cause", async (time) => {
  using warnings = new Warnings();
  const lose = async (backend: ReturnType<typeof scripted>, name: string) => {
    await new RedisLock(backend, name, { ttl: 3000 }).acquire();
    await time.pass(3100);
  };
  const backend = forgetful();
  for (const name of ["a", "b", "c"]) await lose(backend, name);
  assert.equal(warnings.seen.length, 1);
  assert.match(
    warnings.seen[0]!,
    /^INTERLOCK_LEASE_LOST: A lease was lost\. Cannot keep lock "a": Redis no longer knows this hold: its data is gone/,
  );
  const unreachable = scripted((command) => {
    if (command === "renew") throw new AggregateError([new Error("connect ECONNREFUSED 127.0.0.1:6379")], "");
  });
  await lose(unreachable, "d");
  assert.equal(warnings.seen.length, 2);
  assert.match(
    warnings.seen[1]!,
    /lock "d": it could not be renewed in time \(connect ECONNREFUSED 127\.0\.0\.1:6379\)/,
  );
});

fakeTimeTest("a lease with renew: false ends without a warning, and hides no later one", async (time) => {
  using warnings = new Warnings();
  const backend = memoryBackend();
  const lease = await new RedisLock(backend, "once", { ttl: 3000, renew: false }).acquire();
  await time.pass(3100);
  assert.equal(lease.signal.aborted, true);
  assert.deepEqual(warnings.seen, []);
  await new RedisLock(backend, "hangs", { ttl: 3000, renew: 2000 }).acquire();
  await time.pass(6100);
  assert.equal(warnings.seen.length, 1);
  assert.match(warnings.seen[0]!, /lock "hangs": its ttl of 3000 ms is over, and it is not renewed \(renew: 2000\)/);
});

for (const renew of [false, true]) {
  test(`a lease with renew: ${renew} that outlives its client is ${renew ? "a" : "no"} warning`, async () => {
    using warnings = new Warnings();
    const { backend, close } = closable(scripted(() => undefined));
    const lease = await new RedisLock(backend, "once", { renew }).acquire();
    close();
    assert.equal(lease.held, false);
    assert.equal(warnings.seen.length, renew ? 1 : 0);
  });
}

fakeTimeTest(
  "a process that was paused has lost the lease whose time is over, with a warning, and only that",
  async (time) => {
    using warnings = new Warnings();
    const backend = memoryBackend();
    const lease = await new RedisLock(backend, "paused", { ttl: 3000, renew: 60_000 }).acquire();
    const others = [true, false].map((renew) => new RedisLock(backend, `renew ${renew}`, { ttl: 60_000, renew }));
    const [long, unrenewed] = await Promise.all(others.map((lock) => lock.acquire()));
    const waiting = watch(others[0]!.acquire());
    time.block(12_000);
    assert.match(`${lease.signal.reason}`, /lock "paused": it could not be renewed in time$/);
    assert.equal(warnings.seen.length, 1);
    await time.pass(1000);
    assert.deepEqual([long!.held, unrenewed!.held, waiting.state], [true, true, "pending"]);
    for (const one of [long!, unrenewed!]) assert.equal(await one.release(), true);
    assert.equal(await (await waiting.promise).release(), true);
    assert.equal(warnings.seen.length, 1);
  },
);
