/** KeyedMutex: one queue for each key, and no entry for a key that is free. */
import assert from "node:assert/strict";
import { KeyedMutex, TimeoutError } from "../mod.ts";
import { test } from "./_test.ts";

test("KeyedMutex: keys are compared as in a Map", async () => {
  const keys = new KeyedMutex<unknown>();
  const object = {}, symbol = Symbol("key");
  const all = [NaN, object, symbol, null, 0, "0", "", 10n, {}, Symbol("key")];
  const guards = await Promise.all(all.map((key) => keys.acquire(key, { timeout: 0 })));
  assert.equal(keys.size, all.length);
  for (const key of [...all, -0]) assert.equal(keys.tryAcquire(key), undefined);
  for (const key of all) {
    await assert.rejects(
      keys.acquire(key, { timeout: 0 }),
      (error: Error) =>
        error instanceof TimeoutError && /^Cannot acquire lock for key .+: timed out after 0 ms$/.test(error.message),
    );
  }
  guards.forEach((guard) => guard.release());
  assert.equal(keys.size, 0);
});
