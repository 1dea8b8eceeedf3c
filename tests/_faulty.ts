/** One test among neighbours, with the fault that FAULT names: for tests/one_failure_test.ts. */
import assert from "node:assert/strict";
import process from "node:process";
import { RedisLock } from "../lib/redis/mod.ts";
import { redisTest } from "./redis/_clients.ts";
import { test } from "./_test.ts";
import { deferred, until, withFakeTime } from "./_tools.ts";

const faults: Readonly<Record<string, () => void>> = {
  "an assertion": () =>
    redisTest("faulty", async ({ backend, connect }) => {
      const held = new RedisLock(backend, "name");
      await held.acquire();
      const others = [await connect(), await connect(), await connect()].map((one) => new RedisLock(one, "name"));
      for (const lock of others) void lock.acquire();
      await until(async () => (await held.inspect()).waiters.length === 3);
      assert.equal("as it is", "as it should be");
    }),
  "a hang": () => test("faulty", () => withFakeTime(() => new Promise(() => {})), { timeout: 200 }),
  "an uncaught error": () =>
    test("faulty", async () => {
      const fired = deferred();
      setTimeout(() => {
        fired.resolve();
        throw new Error("thrown in a timer");
      }, 0);
      await fired.promise;
    }),
  "a killed process": () => test("faulty", () => void process.kill(process.pid, "SIGKILL")),
  "a file that does not load": () => {
    throw new Error("thrown by a file");
  },
};

test("before", () => {});
faults[process.env["FAULT"]!]!();
redisTest("over Redis", async ({ backend }) => {
  const lock = new RedisLock(backend, "name");
  await (await lock.acquire()).release();
});
test("with a timer", async () => {
  const begun = performance.now();
  await until(() => performance.now() > begun);
});
