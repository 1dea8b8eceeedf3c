/** Run-times that lack something: everything local works in a process from which it was taken. */
import assert from "node:assert/strict";
import { runProgram } from "./_program.ts";
import { taken } from "./_taken.ts";
import { test } from "./_test.ts";

for (const what of Object.keys(taken)) {
  test(`smoke: without ${what}`, async () => {
    const { code, err } = await runProgram(new URL("./_smoke.ts", import.meta.url), [what]);
    assert.deepEqual([code, err], [0, ""]);
  });
}
