/** When a call over Redis counts as waiting: from its first command on, once that has failed, not granted, or takes long. */
import assert from "node:assert/strict";
import { observe, snapshot, watchdog } from "../../lib/diagnostics/mod.ts";
import { memoryBackend, RedisLock, RedisRateLimiter, RedisSemaphore } from "../../lib/redis/mod.ts";
import { namespaceOf } from "../../lib/redis/namespace.ts";
import { Ledger } from "../diagnostics/_ledger.ts";
import { Measurements, Recording } from "../diagnostics/_tools.ts";
import { deferred, flushMicrotasks, rejectsWith } from "../_tools.ts";
import { fakeTimeTest, nothing, scripted } from "./_scripted.ts";
import { assertSoundNamespace } from "../sound/redis/namespace.ts";

const refused = scripted((command) => {
  if (command === "acquire") throw new Error("MISCONF no disk");
});

const down = () => Promise.reject(new Error("connect ECONNREFUSED"));

fakeTimeTest("waits: 20 calls that time out show in watchdog, snapshot and metrics", async (time) => {
  using recording = new Recording();
  using ledger = new Ledger();
  const findings: string[] = [];
  using _ = watchdog({ waited: 500, report: (message) => void findings.push(message) });
  using measurements = new Measurements();
  const { values } = measurements;
  const lock = new RedisLock({ evalsha: down, eval: down }, "orders");
  const calls = Array.from(
    { length: 20 },
    () =>
      assert.rejects(
        lock.acquire({ timeout: 3900 }),
        /^TimeoutError: .*: timed out after 3900 ms; the connection failed \(connect ECONNREFUSED\)$/,
      ),
  );
  await flushMicrotasks();
  assert.equal(snapshot()[0]?.waiters.length, 20);
  assert.equal(values.get("interlock.waiters redis-lock orders"), 20);
  for (let i = 0; i < 39; i++) {
    time.advance(100);
    await flushMicrotasks();
  }
  await Promise.all(calls);
  assert.equal(findings.length, 1);
  assert.match(findings[0]!, /has waited for redis lock "orders" for .* \(19 other calls wait, too\)/);
  assert.equal(values.get("interlock.give_ups redis-lock orders timeout"), 20);
  assert.equal(values.get("interlock.waiters redis-lock orders"), 0);
  assert.equal(values.get("interlock.wait.duration redis-lock orders timeout"), 3.9);
  assert.equal(recording.seen.length, 40);
  assert.deepEqual(snapshot(), []);
  ledger.assertSettled();
  await time.pass(32_000, 100); // they may have run, so their ids are released for one ttl
});

fakeTimeTest("waits: a call waits once it has had no answer for 100 ms, counted from the call", async (time) => {
  using recording = new Recording();
  for (const [delay, lines] of [[99, 1], [101, 2]] as const) {
    recording.seen.length = 0;
    const answer = deferred<undefined>();
    const lock = new RedisLock(scripted((command) => command === "acquire" ? answer.promise : undefined), "orders");
    const call = lock.acquire();
    await flushMicrotasks();
    time.advance(delay);
    answer.resolve(undefined);
    const lease = await call;
    assert.equal(recording.seen.length, lines);
    const [first] = recording.seen;
    const grant = recording.seen.at(-1)!;
    assert.equal(grant.event, "grant");
    assert.equal(grant.waited, lines === 1 ? 0 : delay);
    if (lines === 2) assert.equal(grant.at - first!.at, delay);
    await lease.release();
  }
});

fakeTimeTest("waits: every call that ends without a grant has waited and given up", async (time) => {
  using recording = new Recording();
  using ledger = new Ledger();
  await assert.rejects(new RedisLock(refused, "orders").acquire());
  await assert.rejects(new RedisLock(refused, "orders").tryAcquire());
  await assert.rejects(
    new RedisRateLimiter({ evalsha: down, eval: down }, "orders", 1, 1000).acquire({ timeout: 0 }),
  );
  assert.deepEqual(recording.lines, [
    ...["wait redis-lock orders", "giveUp redis-lock orders error"],
    ...["wait redis-lock orders", "giveUp redis-lock orders error"],
    ...["wait redis-rate-limiter orders", "giveUp redis-rate-limiter orders timeout"],
  ]);
  recording.seen.length = 0;
  const silent = scripted((command) => command === "acquire" ? nothing : undefined);
  const controllers = [1, 2, 3].map(() => new AbortController());
  const calls = controllers.map(({ signal }) => new RedisLock(silent, "silent").acquire({ signal }));
  await flushMicrotasks();
  for (const at of [1, 0, 2]) {
    controllers[at]!.abort(at);
    await assert.rejects(calls[at]!, (reason) => reason === at);
    assert.deepEqual(recording.lines.slice(-2), ["wait redis-lock silent", "giveUp redis-lock silent aborted"]);
  }
  assert.equal(recording.seen.length, 6);
  ledger.assertSettled();
  await flushMicrotasks(); // their ids are released
  time.advance(60_000);
  await flushMicrotasks();
});

fakeTimeTest("waits: a try of a taken resource has not waited, unless its command took long", async (time) => {
  const taken = scripted((command) => command === "acquire" ? [0, 1e15, 0, 0] : undefined);
  const semaphore = new RedisSemaphore(taken, "orders", 1);
  using recording = new Recording();
  assert.equal(await semaphore.tryAcquire(), undefined);
  await assert.rejects(semaphore.acquire({ timeout: 0 }), { name: "TimeoutError" });
  assert.deepEqual(recording.lines, []);
  const answer = deferred<unknown>();
  const slow = new RedisLock(scripted((command) => command === "acquire" ? answer.promise : undefined), "slow");
  const call = slow.tryAcquire();
  await flushMicrotasks();
  time.advance(150);
  answer.resolve([0, 1e15, 0, 0]);
  assert.equal(await call, undefined);
  assert.deepEqual(recording.lines, ["wait redis-lock slow", "giveUp redis-lock slow timeout"]);
  assert.equal(recording.seen[1]!.waited, 150);
});

fakeTimeTest("waits: a call that an observer cancels as it is queued is left to no subscription", async () => {
  const backend = memoryBackend();
  const lock = new RedisLock(backend, "orders");
  const lease = await lock.acquire();
  const controller = new AbortController();
  using _ = observe({ wait: () => controller.abort("enough") });
  await rejectsWith(lock.acquire({ signal: controller.signal }), "enough");
  await flushMicrotasks();
  assertSoundNamespace(namespaceOf(backend, "interlock:"));
  assert.equal((await lock.inspect()).waiting, 0);
  await lease.release();
});
