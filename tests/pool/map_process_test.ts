/** Maps of which several functions fail: in processes of their own, of the same run-time, which have to stay alive. */
import assert from "node:assert/strict";
import { runProgram } from "../_program.ts";
import { test } from "../_test.ts";

const ends: Record<string, string> = {
  "for await": "Error: failure 1",
  "toArray": "Error: failure 1",
  "left by break": "",
  "left behind a failure": "Error: failure 1",
  "aborted": "Error: failure 1",
  "await using": "Error: failure 1",
  "failing source": "Error: failure 1",
  "failing source, left": "Error: finally",
  "in one call": "Error: failure 1",
  "in one call, aborted": "Error: failure 1",
  "in one call, failing source": "Error: failure 1",
  "settled": "",
  "settled, aborted": "Error: failure 1",
  "settled, left by break": "",
};

for (const [how, thrown] of Object.entries(ends)) {
  test(`Pool.map: a process survives the later failures of a map: ${how}`, async () => {
    const { code, out, err } = await runProgram(new URL("./_failing_map.ts", import.meta.url), [how]);
    const lines = out.split(/\s*\n/);
    assert.deepEqual([code, lines, err], [0, thrown === "" ? ["alive"] : [thrown, "alive"], ""]);
  });
}
