/** What diagnostics keep does not grow with the number of calls, in a process of its own on the same run-time. */
import assert from "node:assert/strict";
import { deeply } from "../_random.ts";
import { runProgram } from "../_program.ts";
import { test } from "../_test.ts";

const ALL = "watchdog,metrics,channels,observe,dashboard";
const COUNT = 300;
/** Bytes for each operation. Stacks that are kept take 0.9 to 4 kB. */
const MOST = 500;

// A trace reads the stacks that a watchdog leaves unread, so it would hide what they keep.
for (const on of deeply([ALL], [ALL, "watchdog,trace"])) {
  test(`diagnostics: the heap does not grow with the number of contended calls: ${on}`, async () => {
    const { code, out, err } = await runProgram(new URL("./_growing.ts", import.meta.url), [on, `${COUNT}`], {
      limit: 280_000,
    });
    assert.equal(code, 0, err);
    const grown = Object.entries(JSON.parse(out) as Record<string, number>).filter(([, bytes]) => bytes > MOST);
    assert.deepEqual(grown, []);
  }, { timeout: 300_000 });
}

test("diagnostics: 100,000 contended runs in one macrotask end within 10 MB", async () => {
  const { code, out, err } = await runProgram(new URL("./_one_macrotask.ts", import.meta.url), [], { limit: 60_000 });
  assert.equal(code, 0, err);
  assert.ok(Number(out) <= 10, `${out} MB`);
}, { timeout: 70_000 });
