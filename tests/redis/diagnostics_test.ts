/** Diagnostics over Redis: kinds, names and keys, deadlocks within a process, the holder in a time-out. */
import assert from "node:assert/strict";
import { type Finding, watchdog } from "../../lib/diagnostics/mod.ts";
import {
  type Acquirable,
  type Backend,
  type Lease,
  RedisKeyedMutex,
  RedisLock,
  RedisRwLock,
  RedisSemaphore,
  TimeoutError,
} from "../../lib/redis/mod.ts";
import { Ledger } from "../diagnostics/_ledger.ts";
import { Recording } from "../diagnostics/_tools.ts";
import { redisTest, until } from "./_clients.ts";

const bodies: Record<string, (backend: Backend) => Acquirable<Lease>> = {
  "redis-lock orders": (backend) => new RedisLock(backend, "orders"),
  "redis-semaphore orders": (backend) => new RedisSemaphore(backend, "orders", 1),
  "redis-writer orders": (backend) => new RedisRwLock(backend, "orders").writer,
  "redis-reader orders": (backend) => new RedisRwLock(backend, "orders").reader,
  "redis-key 42": (backend) => new RedisKeyedMutex(backend, { prefix: "test:" }).at("42"),
};

for (const [kind, make] of Object.entries(bodies)) {
  redisTest(`events of ${kind}: kind, name and key`, async ({ backend }) => {
    using ledger = new Ledger();
    using recording = new Recording();
    await make(backend).run(() => {});
    const lines = recording.lines.filter((line) => !line.startsWith("wait")); // a slow server makes a wait of it
    assert.deepEqual(lines, [`grant ${kind}`, `release ${kind}`]);
    assert.ok(recording.seen.every(({ permits }) => permits === 1));
    ledger.assertSettled();
  });
}

/** Calls `fn` with a function that waits for a watchdog's findings. */
async function finding(fn: (signal: AbortSignal) => Promise<unknown>): Promise<Finding> {
  const findings: Finding[] = [];
  const controller = new AbortController();
  using _ = watchdog({ self: 100, report: (_, one) => void findings.push(one) });
  const hanging = fn(controller.signal).catch(() => {});
  await until(() => findings.length > 0);
  controller.abort();
  await hanging;
  return findings[0]!;
}

redisTest("watchdog: a lock of the same name, in another object, is the same lock", async ({ backend }) => {
  const { kind, message } = await finding((signal) =>
    new RedisLock(backend, "orders").run(async () => {
      await new RedisLock(backend, "orders").acquire({ signal });
    })
  );
  assert.equal(kind, "self");
  assert.match(
    message,
    /a call at diagnostics_test\.ts:\d+ has waited for redis lock "orders" .* diagnostics_test\.ts:\d+$/,
  );
});

redisTest("watchdog: keys in opposite orders", async ({ backend }) => {
  const accounts = new RedisKeyedMutex(backend);
  let inside = 0;
  const transfer = (from: string, to: string, signal: AbortSignal) =>
    accounts.run(from, async () => {
      inside++;
      await until(() => inside === 2);
      await accounts.acquire(to, { signal });
    });
  const { kind, message } = await finding((signal) =>
    Promise.allSettled([transfer("alice", "bob", signal), transfer("bob", "alice", signal)])
  );
  assert.equal(kind, "cycle");
  assert.match(message, /redis lock for key "alice"/);
});

redisTest("watchdog: a holder on another connection is unknown", async ({ backend, connect }) => {
  const other = await connect();
  const findings: Finding[] = [];
  using _ = watchdog({ self: 50, waited: 200, report: (_, one) => void findings.push(one) });
  const lease = await new RedisLock(other, "orders").acquire();
  const waiting = new RedisLock(backend, "orders").run(() => {});
  await until(() => findings.length > 0);
  assert.equal(findings[0]!.kind, "waited");
  assert.match(findings[0]!.message, /; its holder is not on this connection, inspect\(\) shows it$/);
  await lease.release();
  await waiting;
});

redisTest("watchdog: a time-out names the holder in this process", async ({ backend }) => {
  using _ = watchdog({ report() {} });
  const lock = new RedisLock(backend, "orders");
  await using _lease = await lock.acquire();
  for (const timeout of [0, 100]) {
    await assert.rejects(lock.acquire({ timeout }), (error: Error) => {
      assert.ok(error instanceof TimeoutError);
      const [message, place] = error.message.split("; ");
      assert.equal(message, `Cannot acquire lock "orders": timed out after ${timeout} ms`);
      assert.match(String(place), /^held for \d+ ms, acquired at diagnostics_test\.ts:\d+$/);
      return true;
    });
  }
});
