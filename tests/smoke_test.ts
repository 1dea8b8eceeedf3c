/** Run-times that lack something: everything local works in a process from which it was taken. */
import assert from "node:assert/strict";
import { runProgram } from "./_program.ts";
import { test } from "./_test.ts";

for (
  const what of [
    "nothing",
    "new members of signals",
    "new members of signals, and DOMException",
    "SharedArrayBuffer and Atomics",
    "crypto",
    "TextEncoder and TextDecoder",
    "process, but for env",
    "process",
    "what is newer than ES2019",
  ]
) {
  test(`smoke: without ${what}`, async () => {
    const { code, err } = await runProgram(new URL("./_smoke.ts", import.meta.url), [what]);
    assert.deepEqual([code, err], [0, ""]);
  });
}
