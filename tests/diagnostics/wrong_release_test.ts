/** `lock.release()` by a caller whose own acquire was refused. */
import assert from "node:assert/strict";
import { Condition, Lock, TimeoutLock } from "../../mod.ts";
import { test } from "../_test.ts";
import { flushMicrotasks } from "../_tools.ts";
import { kindsOf, watched } from "./_tools.ts";

/** The mistake: the release belongs behind the acquire, or to its guard. */
async function careless(lock: Lock, limits: { timeout?: number; signal?: AbortSignal }): Promise<string> {
  try {
    await lock.acquire(limits);
    await flushMicrotasks();
    return "done";
  } catch (error) {
    await flushMicrotasks(); // logs it
    return (error as Error).name;
  } finally {
    if (lock.locked) lock.release();
  }
}

test("watchdog: a release in finally after an acquire that timed out is reported, once for each place", () =>
  watched(async (findings, time) => {
    const lock = new TimeoutLock(100, { name: "orders" });
    for (let i = 0; i < 3; i++) {
      const guard = await lock.acquire();
      const call = careless(lock, {});
      time.advance(100);
      assert.equal(await call, "TimeoutError");
      assert.equal(guard.held, false); // which is what it has done
    }
    assert.deepEqual(kindsOf(findings), ["release"]);
    const place = String.raw`wrong_release_test\.ts:\d+`;
    assert.match(
      findings[0]!.message,
      new RegExp(
        `^Interlock: wrong release: lock "orders" is released at ${place} by a caller whose own acquire at ${place} was refused; ` +
          `another call has held it for 100 ms, acquired at ${place}\\. Release the guard in place of the lock$`,
      ),
    );
    assert.deepEqual(findings[0]!.calls.map(({ state, name }) => [state, name]), [["holds", "orders"]]);
  }));

test("watchdog: the same after an abort, the middle one of three, and with a queue that was full", () =>
  watched(async (findings) => {
    const lock = new Lock();
    const guard = await lock.acquire();
    const controllers = [1, 2, 3].map(() => new AbortController());
    const calls = controllers.map(({ signal }) => careless(lock, { signal }));
    assert.equal(await careless(new Lock(), {}), "done");
    controllers[1]!.abort();
    assert.equal(await calls[1], "AbortError");
    assert.equal(guard.held, false);
    for (const call of [calls[0], calls[2]]) assert.equal(await call, "done");
    assert.deepEqual(kindsOf(findings), ["release"]);
    const full = new Lock({ name: "full", maxWaiting: 0 });
    await full.acquire();
    assert.equal(await careless(full, {}), "QueueFullError");
    assert.deepEqual(kindsOf(findings), ["release", "release"]);
  }));

test("watchdog: a release by the holder is none, even after an earlier attempt of it was refused", () =>
  watched(async (findings, time) => {
    const lock = new Lock();
    const before = await lock.acquire();
    const refused = lock.acquire({ timeout: 10 }).catch(() => {});
    time.advance(10);
    await refused;
    before.release(); // a guard is never wrong
    await lock.acquire({ timeout: 10 });
    lock.release();
    const again = careless(lock, { timeout: 10 });
    assert.equal(await again, "done");
    const condition = new Condition(lock);
    await condition.acquire();
    condition.release();
    assert.deepEqual(findings, []);
  }));

test("watchdog: a release by a function around the refused call is none, if that holds", () =>
  watched(async (findings, time) => {
    const lock = new Lock();
    await lock.acquire();
    async function inner(): Promise<void> {
      const guard = await lock.acquire({ timeout: 10 });
      guard.release();
    }
    const refused = inner().catch(() => {});
    time.advance(10);
    await refused;
    lock.release();
    assert.deepEqual(findings, []);
  }));

test("watchdog: a release by a caller that has acquired nothing is none: the hold may have been handed over", () =>
  watched(async (findings) => {
    const lock = new Lock();
    await (async () => {
      await Promise.resolve();
      await lock.acquire();
    })();
    await Promise.resolve();
    lock.release();
    assert.deepEqual(findings, []);
  }));
