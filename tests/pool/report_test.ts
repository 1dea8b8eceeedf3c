/** Pool: its reports to the diagnostics. */
import assert from "node:assert/strict";
import { Pool, RateLimiter } from "../../mod.ts";
import { type Hook, type Resource, setHook } from "../../lib/internal/hook.ts";
import { test } from "../_test.ts";
import { flushMicrotasks } from "../_tools.ts";

/** Records events as "grant 1 pool orders": the calls are numbered as they appear. */
async function recorded(fn: () => Promise<void>): Promise<string[]> {
  const events: string[] = [];
  const calls: object[] = [];
  const note = (event: string, call: object, resource?: Resource, rest: unknown = "") => {
    if (resource !== undefined && resource.kind !== "pool") return;
    if (!calls.includes(call)) calls.push(call);
    events.push(`${event} ${calls.indexOf(call)} ${resource?.name ?? ""} ${rest}`.trim());
  };
  const hook: Hook = {
    step: (fn) => fn(),
    begin: (call) => note("begin", call),
    wait: (resource, call, permits) => note("wait", call, resource, permits),
    grant: (resource, call, permits) => note("grant", call, resource, permits),
    giveUp: (resource, call, outcome) => note("give up", call, resource, outcome),
    release: (resource, call) => note("release", call, resource),
    failRenewal: () => {},
    releaseWithoutGuard: () => {},
    giveBack: () => {},
    run: (call, fn) => (note("run", call), fn()),
    deadlockOf: () => undefined,
    holderOf: (resource) => `; held by another call of ${resource.kind}`,
  };
  setHook(hook);
  try {
    await fn();
  } finally {
    setHook(undefined);
  }
  return events;
}

test("Pool: run and createTask report wait, grant, run and release", async () => {
  const events = await recorded(async () => {
    const pool = new Pool(1, { name: "orders" });
    const first = pool.run(() => Promise.resolve());
    const second = pool.createTask(() => Promise.reject(new Error("failed")));
    const controller = new AbortController();
    const third = pool.run(() => {}, { signal: controller.signal });
    const cancelled = assert.rejects(third, /no/);
    controller.abort(new Error("no"));
    await assert.rejects(pool.run(() => {}, { timeout: 0 }), /timed out after 0 ms; held by another call of pool$/);
    await cancelled;
    await first;
    await assert.rejects((await second).result, /failed/);
    await pool.join();
  });
  assert.deepEqual(events, [
    "grant 0 orders 1",
    "wait 1 orders 1",
    "wait 2 orders 1",
    "give up 2 orders aborted",
    "run 0",
    "release 0 orders",
    "grant 1 orders 1",
    "run 1",
    "release 1 orders",
  ]);
});

test("Pool: a map reports each item, and every grant has one release, however it ends", async () => {
  for (const end of ["natural", "left", "failed", "cancelled"]) {
    for (const rate of [undefined, new RateLimiter(100, 1)]) {
      const events = await recorded(async () => {
        const pool = new Pool(2, { name: "m", rate });
        const map = pool.map([0, 1, 2, 3, 4, 5], async (n) => {
          await Promise.resolve();
          if (n === 2 && end === "failed") throw new Error("failed");
          if (n === 2 && end === "cancelled") pool.cancel("stop");
        });
        if (end === "left") {
          await map.next();
          await map.return!();
        } else await map.toArray().catch(() => {});
        await flushMicrotasks();
        await pool.join().catch(() => {});
      });
      const count = (event: string) => events.filter((one) => one.startsWith(event)).length;
      assert.equal(count("grant"), count("release"), `${end}: ${events}`);
      assert.ok(count("wait") <= count("grant") + count("give up"));
      if (end === "natural") assert.equal(count("run"), 6);
    }
  }
});
