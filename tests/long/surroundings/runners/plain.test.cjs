/** Runs in Jest and mocha as they are, without any settings. */
const assert = require("node:assert/strict");
const { Lock, TimeoutError } = require("@interlock/interlock");
const { memoryBackend, RedisLock } = require("@interlock/interlock/redis");

(globalThis.test ?? globalThis.it)("a package that is required", async () => {
  const lock = new Lock();
  await lock.acquire();
  await assert.rejects(lock.acquire({ timeout: 5 }), TimeoutError);
  assert.equal(await new RedisLock(memoryBackend(), "orders").run(() => 7), 7);
});
