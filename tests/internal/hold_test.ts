/** Guards: spent once, disposable both ways, and quiet about it. */
import assert from "node:assert/strict";
import { Lock } from "../../mod.ts";
import { test } from "../_test.ts";

test("guard: it is not thenable, and held cannot be set", async () => {
  const guard = await new Lock().acquire();
  assert.equal("then" in guard, false);
  assert.throws(() => Object.assign(guard, { held: false }), TypeError);
  assert.equal(guard.held, true);
});
