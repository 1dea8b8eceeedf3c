/** The quick fault scenarios; `deno task chaos` runs all of them. And a proof that the harness detects violations. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { seeded } from "../_tools.ts";
import { test } from "../_test.ts";
import { runScenario } from "../redis/faults/_harness.ts";
import { Resource } from "../redis/faults/_resource.ts";
import { scenarios } from "../redis/faults/scenarios.ts";

for (const scenario of scenarios.filter(({ fast }) => fast)) {
  test(`faults: ${scenario.name}`, () =>
    seeded(async (random) => {
      const verdict = await runScenario(scenario, random);
      assert.deepEqual(verdict.violations, []);
      assert.ok(verdict.acquisitions > 0);
    }));
}

test("faults: docs/reliability.md has the number of scenarios", () => {
  const page = readFileSync(new URL("../../docs/reliability.md", import.meta.url), "utf8");
  assert.equal(Number(/(\d+) fault scenarios/.exec(page)?.[1]), scenarios.length);
});

test("faults: a lock that trusts its time-out is caught", () =>
  seeded(async (random) => {
    const planted = {
      name: "planted",
      run: (harness: Parameters<(typeof scenarios)[number]["run"]>[0]) =>
        harness.workers(3, "planted", { hold: 60 }).then(() => harness.entries(10)),
    };
    const { violations } = await runScenario(planted, random);
    assert.ok(violations.some((one) => one.startsWith("overlap: shared: planted")), violations.join("; "));
  }));

test("faults: the resource refuses who comes late, and notes who should not be there", async () => {
  const resource = new Resource(1);
  const message = { name: "a", weight: 1, waited: 0, good: 1000 };
  resource.hear({ ...message, say: "enter", worker: "slow", fence: 1 });
  resource.hear({ ...message, say: "enter", worker: "quick", fence: 2 });
  assert.deepEqual(resource.figures.overlaps, ["a: quick (2) next to slow (1)"]);
  assert.equal(resource.hear({ ...message, say: "write", worker: "quick", fence: 2 }), true);
  assert.equal(resource.hear({ ...message, say: "write", worker: "slow", fence: 1 }), false);
  assert.equal(resource.figures.stale, 1);
  // A worker that left, or whose lease is over, blocks no other.
  resource.hear({ ...message, say: "leave", worker: "slow", fence: 1 });
  resource.hear({ ...message, say: "write", worker: "quick", fence: 2, good: 0 });
  await sleep(1);
  resource.hear({ ...message, say: "enter", worker: "third", fence: 3 });
  assert.equal(resource.figures.overlaps.length, 1);
});
