/** The answers that decide what `release()` resolves to. */
import assert from "node:assert/strict";
import { RedisLock } from "../../../lib/redis/mod.ts";
import { test } from "../../_test.ts";
import { deferred, watch, withFakeTime } from "../../_tools.ts";
import { computeDigests, scripted } from "../_scripted.ts";

for (const [first, expected] of [[1, true], [0, "unknown"], ["none", "unknown"]] as const) {
  test(`release: the first answer is ${first} and comes after the second one, which found other holders`, () =>
    withFakeTime(async (time) => {
      await computeDigests();
      const answer = deferred<unknown>();
      let releases = 0;
      const backend = scripted((command) => {
        if (command !== "release") return;
        return releases++ === 0 ? answer.promise : [0, 0, 0];
      });
      const lease = await new RedisLock(backend, "a", { ttl: 3000 }).acquire();
      const released = watch(lease.release());
      await time.pass(1700);
      assert.deepEqual([releases, released.state], [2, "pending"]);
      if (first !== "none") answer.resolve([first, 0, 0]);
      await time.pass(1500);
      if (expected === true) assert.equal(released.value, true);
      else assert.match(String(released.reason), /the outcome is not known.* for 1000 ms/);
    }));
}
