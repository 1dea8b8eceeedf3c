/** Guards: spent once, disposable both ways, and quiet about it. */
import assert from "node:assert/strict";
import { Lock } from "../../mod.ts";
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

test("guard: it is not thenable, and held cannot be set", async () => {
  const guard = await new Lock().acquire();
  assert.equal("then" in guard, false);
  assert.throws(() => Object.assign(guard, { held: false }), TypeError);
  assert.equal(guard.held, true);
});
