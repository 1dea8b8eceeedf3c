/** Pools that are attached: closed at the signal, their calls in flight, and cancelled when forced. */
import assert from "node:assert/strict";
import { type GracefulShutdown, Pool } from "../../mod.ts";
import { test } from "../_test.ts";
import { deferred, flushMicrotasks, states, watch } from "../_tools.ts";
import { finish, gate, quiet } from "./client.ts";

test("attach(pool): running and queued calls are in flight, and new ones are refused from the signal on", async () => {
  const shutdown = quiet();
  const pool = new Pool(1, { name: "jobs" });
  assert.equal(shutdown.attach(pool), pool);
  shutdown.attach(pool); // twice is once
  assert.deepEqual([shutdown.active, shutdown.labels], [0, []]);
  const work = gate();
  const calls = [1, 2, 3].map((n) => pool.run(async () => (await work.promise, n)));
  assert.deepEqual([shutdown.active, shutdown.labels], [3, ["jobs"]]);
  const finished = watch(shutdown.finished);
  shutdown.request();
  await assert.rejects(pool.run(() => {}), { name: "ClosedError" });
  assert.equal(await states([finished]), "pending");
  work.open();
  assert.deepEqual(await Promise.all(calls), [1, 2, 3]);
  const { ok, remaining } = await shutdown.finished;
  assert.deepEqual([ok, remaining, shutdown.active], [true, [], 0]);
});

test("attach(pool): when forced it is cancelled with that reason, and named in what remains", async () => {
  for (const [name, label] of [["jobs", "jobs"], [undefined, "pool"]]) {
    const shutdown = quiet({ grace: 20 });
    const pool = shutdown.attach(new Pool(1, { name }));
    const running = watch(pool.run((signal) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
      })
    ));
    const queued = watch(pool.run(() => assert.fail("it was queued")));
    const { remaining, errors, ok } = await finish(shutdown);
    assert.deepEqual([remaining, errors, ok], [[label], [], false]);
    await flushMicrotasks();
    assert.deepEqual([running.reason, queued.reason], [shutdown.forced.reason, shutdown.forced.reason]);
  }
});

test("attach(pool): an idle pool holds nothing; a map that is read does, also between two reads", async () => {
  const shutdown = quiet({ grace: Infinity });
  const pool = shutdown.attach(new Pool(2));
  shutdown.attach(new Pool(2));
  const results = pool.map([1, 2, 3], (n) => n)[Symbol.asyncIterator]();
  await results.next();
  const finished = watch(shutdown.finished);
  shutdown.request();
  assert.equal(await states([finished]), "pending");
  while (!(await results.next()).done);
  assert.equal((await shutdown.finished).ok, true);
});

test("attach(pool): failures that nothing has observed are errors of the report, others are their caller's", async () => {
  const shutdown = quiet();
  const pool = shutdown.attach(new Pool(2));
  const boom = new Error("boom");
  await assert.rejects(pool.run(() => Promise.reject(new Error("observed"))));
  await pool.createTask(() => Promise.reject(boom));
  assert.deepEqual((await finish(shutdown)).errors, [boom]);
});

test("attach(pool): detach undoes it, and so does the disposal", async () => {
  for (const undo of [(s: GracefulShutdown, p: Pool) => s.detach(p), (s: GracefulShutdown) => s[Symbol.dispose]()]) {
    const shutdown = quiet();
    const pool = shutdown.attach(new Pool(1));
    const work = gate();
    const call = pool.run(() => work.promise);
    undo(shutdown, pool);
    shutdown.request();
    assert.equal(pool.closed, false);
    work.open();
    await call;
    if (shutdown.signal.aborted) assert.equal((await shutdown.finished).ok, true);
  }
});

test("attach(pool): one that comes after the signal is closed at once, and its calls are still awaited", async () => {
  const shutdown = quiet();
  const { promise, resolve } = deferred();
  shutdown.track(promise);
  shutdown.request();
  const pool = new Pool(1);
  const call = pool.run(() => 1);
  shutdown.attach(pool);
  assert.deepEqual([pool.closed, shutdown.active], [true, 2]);
  resolve();
  assert.equal(await call, 1);
  await shutdown.finished;
  assert.equal(shutdown.attach(new Pool(1)).closed, true);
});
