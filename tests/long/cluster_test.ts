/** Workers of a node:cluster that are replaced under load. Started by Deno only. */
import assert from "node:assert/strict";
import { runtime, test } from "../_test.ts";
import { replaceWorkers } from "../shutdown/proxy/handover.ts";

if (runtime === "deno") {
  for (const [routes, connections, rounds] of [["service", 40, 6], ["quick", 4, 20]] as const) {
    test(`cluster: ${rounds} workers are replaced and no request fails, routes: ${routes}`, async () => {
      const { answered, failures } = await replaceWorkers({ rounds, connections, seed: 1, routes });
      console.log(`${routes}: ${answered} answered, ${JSON.stringify(failures)}`);
      assert.deepEqual(failures, {});
    }, { timeout: 600_000 });
  }
}
