/** A lease that is lost: its event, its metric, and one warning for each client. */
import assert from "node:assert/strict";
import { memoryBackend, RedisLock } from "../../lib/redis/mod.ts";
import { metrics } from "../../lib/diagnostics/mod.ts";
import { Recording } from "../diagnostics/_tools.ts";
import { test } from "../_test.ts";
import { flushMicrotasks, withFakeTime } from "../_tools.ts";
import { computeDigests, scripted } from "./_scripted.ts";
import { Warnings } from "./_warnings.ts";

await computeDigests();

/** Forgets its holds, as after a flush. */
function forgetful() {
  return scripted((command) => /^(renew|verify)$/.test(command) ? [0] : undefined);
}

test("a lost lease ends with the outcome lost, in its event and in the metrics, and one that is released without", () =>
  withFakeTime(async (time) => {
    using warnings = new Warnings();
    using recording = new Recording();
    const records: string[] = [];
    const instrument = (name: string) => ({
      add: () => {},
      record: (value: number, of: object) => void records.push([name, ...Object.values(of), value].join(" ")),
    });
    const counters = { createCounter: instrument, createUpDownCounter: instrument };
    using _ = metrics({ ...counters, createHistogram: instrument });
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
    assert.match(records.at(-1)!, /^interlock.hold.duration redis-lock orders lost 1/);
    assert.equal(warnings.seen.length, 1);
  }));

test("each renewal that fails or has no answer counts once in the metrics, and an answered one not", () =>
  withFakeTime(async (time) => {
    const counts: string[] = [];
    const instrument = (name: string) => ({
      record: () => {},
      add: (value: number, of: object) => void counts.push([name, ...Object.values(of), value].join(" ")),
    });
    const others = { createHistogram: instrument, createUpDownCounter: () => ({ add: () => {} }) };
    using _ = metrics({ ...others, createCounter: instrument });
    const failed = "interlock.renewal_failures redis-lock orders 1";
    const fail = () => Promise.reject(new Error("Socket closed unexpectedly"));
    let reject!: (reason: Error) => void;
    const late = new Promise<never>((_, fail) => reject = fail);
    const renewals = [undefined, fail, undefined, () => late, undefined];
    let sent = 0;
    const backend = scripted((command) => command === "renew" ? renewals[sent++]?.() : undefined);
    const lease = await new RedisLock(backend, "orders", { ttl: 3000 }).acquire();
    const until = async (count: number) => {
      while (sent < count) await time.pass(50, 50);
      return counts;
    };
    assert.deepEqual(await until(1), []);
    assert.deepEqual(await until(3), [failed]);
    assert.deepEqual(await until(4), [failed]);
    assert.deepEqual(await until(5), [failed, failed]);
    reject(new Error("Socket closed unexpectedly"));
    await flushMicrotasks();
    assert.deepEqual(counts, [failed, failed]);
    assert.equal(lease.held, true);
    await lease.release();
  }));

test("a lost lease is a warning again after ten minutes without a loss, and not before", () =>
  withFakeTime(async (time) => {
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
  }));

test("the first lost lease of a client is a warning that names it and the cause; another client has its own", () =>
  withFakeTime(async (time) => {
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
  }));

test("with memoryBackend(), a lease that another caller revoked is a warning, too", async () => {
  using warnings = new Warnings();
  const lock = new RedisLock(memoryBackend(), "orders");
  const lease = await lock.acquire();
  await lock.forceRelease();
  assert.equal(await lease.verify(), false);
  assert.match(warnings.seen.join("\n"), /^INTERLOCK_LEASE_LOST: .*lock "orders": Redis no longer knows this hold/);
});

test("a lease with renew: false that ends on purpose is no warning, and so does not hide the first real loss", () =>
  withFakeTime(async (time) => {
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
  }));

test("a lease with renew: false that outlives its client is no warning: it was to end by itself", async () => {
  for (const renew of [false, true]) {
    using warnings = new Warnings();
    const listeners: (() => void)[] = [];
    const backend = { ...scripted(() => undefined), onClose: (listener: () => void) => void listeners.push(listener) };
    const lease = await new RedisLock(backend, "once", { renew }).acquire();
    for (const listener of listeners) listener();
    assert.equal(lease.held, false);
    assert.equal(warnings.seen.length, renew ? 1 : 0);
  }
});

test("the end of a lease with renew: ms in a process that was paused is no end on purpose", () =>
  withFakeTime(async (time) => {
    using warnings = new Warnings();
    const lease = await new RedisLock(memoryBackend(), "paused", { ttl: 3000, renew: 60_000 }).acquire();
    time.block(3100);
    assert.match(`${lease.signal.reason}`, /lock "paused": it could not be renewed in time$/);
    assert.equal(warnings.seen.length, 1);
    await flushMicrotasks();
  }));
