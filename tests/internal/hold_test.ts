/** Guards: spent once, disposable both ways, and quiet about it. */
import assert from "node:assert/strict";
import { Lock, Semaphore } from "../../mod.ts";
import { test } from "../_test.ts";

test("guard: using releases at the end of the block, also when it is left by an error", async () => {
  const lock = new Lock();
  {
    using guard = await lock.acquire();
    assert.equal(guard.held, true);
  }
  assert.equal(lock.locked, false);
  await assert.rejects(async () => {
    await using _ = await lock.acquire();
    throw new Error("work failed");
  }, /work failed/);
  assert.equal(lock.locked, false);
});

test("guard: every way of ending it ends it once", async () => {
  const semaphore = new Semaphore(1);
  const ways: ((guard: Awaited<ReturnType<Semaphore["acquire"]>>) => unknown)[] = [
    (guard) => guard.release(),
    (guard) => guard[Symbol.dispose](),
    (guard) => guard[Symbol.asyncDispose](),
  ];
  for (const first of ways) {
    for (const second of ways) {
      const guard = await semaphore.acquire();
      assert.equal(await first(guard), undefined);
      assert.equal(guard.held, false);
      assert.equal(await second(guard), undefined);
      assert.equal(semaphore.value, 1);
    }
  }
});

test("guard: it is not thenable, and held cannot be set", async () => {
  const guard = await new Lock().acquire();
  assert.equal("then" in guard, false);
  assert.throws(() => Object.assign(guard, { held: false }), TypeError);
  assert.equal(guard.held, true);
});
