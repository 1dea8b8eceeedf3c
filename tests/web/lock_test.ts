/** WebLock: construction, modes, theft, and what cancelled calls leave behind. */
import assert from "node:assert/strict";
import { inspect } from "node:util";
import { acquireAll } from "../../mod.ts";
import { observe } from "../../lib/diagnostics/mod.ts";
import { LeaseLostError, SyncError, WebLock, type WebLockManager } from "../../lib/web/mod.ts";
import { test } from "../_test.ts";
import { CountingController, deferred, nextTurn, rejectsWith, states, until, watch, withFakeTime } from "../_tools.ts";
import { CountedLocks, freshName, managers, platform, steal } from "./_managers.ts";

const [, own] = managers.at(-1)!;

function check(what: string, fn: (locks: CountedLocks) => Promise<void>): void {
  for (const [name, locks] of managers) test(`WebLock, ${name}: ${what}`, () => fn(new CountedLocks(locks)));
}

test("WebLock: without navigator.locks the constructor says so", () => {
  if (platform !== undefined) return void new WebLock("orders");
  assert.throws(
    () => new WebLock("orders"),
    (error) => error instanceof SyncError && /navigator\.locks/.test(error.message),
  );
});

test("WebLock: wrong arguments", () => {
  for (const name of [undefined, null, 5, {}]) assert.throws(() => new WebLock(name as never), TypeError);
  for (const name of ["", "-orders"]) assert.throws(() => new WebLock(name, { locks: own }), RangeError);
  for (const options of [null, 5, AbortSignal.abort()]) {
    assert.throws(() => new WebLock("a", options as never), TypeError);
  }
  for (const locks of [null, 5, {}]) assert.throws(() => new WebLock("a", { locks: locks as never }), TypeError);
  for (const mode of [null, 5]) assert.throws(() => new WebLock("a", { locks: own, mode: mode as never }), TypeError);
  assert.throws(() => new WebLock("a", { locks: own, mode: "both" as never }), RangeError);
});

test("WebLock: shows its name and mode, and its guard like any other", async () => {
  const lock = new WebLock("orders", { locks: own, mode: "shared" });
  assert.deepEqual([lock.name, lock.mode, new WebLock("a", { locks: own }).mode], ["orders", "shared", "exclusive"]);
  assert.match(inspect(lock), /^WebLock \{\s*name: ['"]orders['"],\s*mode: ['"]shared['"]\s*\}$/);
  await lock.run((guard) => {
    assert.match(inspect(guard), /^Guard \{ held: true \}$/);
    assert.equal(JSON.stringify(Object.freeze(guard)), "{}");
  });
});

check("a stolen guard is not held, its signal aborts, and its release takes nothing from others", async (locks) => {
  const name = freshName();
  const lock = new WebLock(name, { locks });
  const guard = await lock.acquire();
  assert.equal(guard.signal.aborted, false);
  await steal(locks, name);
  await until(() => guard.signal.aborted);
  assert.equal(guard.held, false);
  assert.ok(guard.signal.reason instanceof LeaseLostError);
  assert.equal(guard.signal.reason.message, `Cannot keep lock "${name}": it was stolen`);
  const next = await lock.acquire();
  await guard.release();
  assert.equal(next.held, true);
  await next.release();
});

check("observers see a stolen lock as lost, and a released one as released", async (locks) => {
  const name = freshName();
  const lock = new WebLock(name, { locks });
  const outcomes: unknown[] = [];
  using _observing = observe({ release: ({ outcome }) => void outcomes.push(outcome) });
  await lock.run(() => {});
  const guard = await lock.acquire();
  await steal(locks, name);
  await until(() => guard.signal.aborted);
  assert.deepEqual(outcomes, [undefined, "lost"]);
});

check("a run whose lock was stolen ends as its function does", async (locks) => {
  const name = freshName();
  const lock = new WebLock(name, { locks });
  const stolen = async (guard: { signal: AbortSignal }) => {
    await steal(locks, name);
    await until(() => guard.signal.aborted);
  };
  assert.equal(
    await lock.run(async (guard) => {
      await stolen(guard);
      return "done";
    }),
    "done",
  );
  const error = new Error("failed");
  await rejectsWith(lock.run((guard) => stolen(guard).then(() => Promise.reject(error))), error);
});

check(
  "a release is no loss: it does not abort the signal, and the next holder has it when it resolves",
  async (locks) => {
    const lock = new WebLock(freshName(), { locks });
    const guard = await lock.acquire();
    const releasing = guard.release();
    assert.equal(guard.held, false);
    await releasing;
    assert.equal(guard.signal.aborted, false);
    const again = await lock.tryAcquire();
    assert.equal(again?.held, true);
    again![Symbol.dispose]();
    await lock.run((inner) => assert.equal(inner.held, true));
  },
);

check("acquireAll refuses it", async (locks) => {
  const lock = new WebLock(freshName(), { locks });
  await assert.rejects(acquireAll([lock as never]), TypeError);
});

/** Managers of the user's: what they answer to query() ends no request. */
const QUERIES: Record<string, () => unknown> = {
  "throws": () => {
    throw new Error("odd");
  },
  "rejects": () => Promise.reject(new Error("odd")),
  "returns nothing": () => undefined,
  "returns no promise": () => ({ held: [], pending: [] }),
  "is quicker than a grant": () => Promise.resolve({ held: [], pending: [] }),
};

for (const [name, query] of Object.entries(QUERIES)) {
  for (const isObserved of [false, true]) {
    test(`WebLock: a manager whose query ${name}${isObserved ? ", observed" : ""}`, async () => {
      const request = async (_name: string, _options: unknown, callback: (lock: unknown) => unknown) => {
        await nextTurn();
        await callback({});
      };
      const kinds: string[] = [];
      const observing = isObserved &&
        observe({ wait: () => void kinds.push("wait"), grant: () => void kinds.push("grant") });
      const lock = new WebLock("orders", { locks: { request, query: query as () => Promise<unknown> } });
      const guard = await lock.tryAcquire();
      assert.equal(guard?.held, true);
      await guard.release();
      await (await lock.acquire()).release();
      if (observing) observing[Symbol.dispose]();
      assert.deepEqual(kinds, isObserved ? ["grant", "grant"] : []);
    });
  }
}

test("WebLock: with a time-out of 0, a free lock is granted however late the platform answers", () =>
  withFakeTime(async (time) => {
    const asked = deferred();
    const locks: WebLockManager = {
      request: async (name, { mode }, callback) => (await asked.promise, await callback({ name, mode })),
    };
    const acquiring = watch(new WebLock("orders", { locks }).acquire({ timeout: 0 }));
    time.advance(50);
    assert.equal(await states([acquiring]), "pending");
    asked.resolve();
    assert.equal(await states([acquiring]), "fulfilled");
    await acquiring.value!.release();
  }));

test("WebLock: what the platform refuses is thrown, also where it throws synchronously", async () => {
  const refusal = new Error("not allowed");
  const controller = new CountingController();
  const sync = {
    request: () => {
      throw refusal;
    },
  };
  const later = { request: () => Promise.reject(refusal) };
  for (const locks of [sync, later]) {
    const lock = new WebLock("a", { locks });
    await rejectsWith(lock.acquire({ signal: controller.signal }), refusal);
    await rejectsWith(lock.tryAcquire(), refusal);
    await rejectsWith(lock.run(() => assert.fail("called")), refusal);
  }
  assert.equal(controller.listeners, 0);
});
