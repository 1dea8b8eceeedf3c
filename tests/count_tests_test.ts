/** The count of CI: a run that tested nothing, skipped a test or broke down is never a success. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { runtime, test } from "./_test.ts";

const script = fileURLToPath(new URL("../scripts/count_tests.mjs", import.meta.url));

const PASSED = `<testcase name="a &gt; b" time="0"/>`;
const FAILED = `<testcase name="b">\n<failure message="no">at x</failure></testcase>`;
const SKIPPED = `<testcase name="c"><skipped type="skipped"/></testcase>`;
const FILE = `<testcase name="tests/lock_test.ts" classname="test"/>`;

/** Runs the script on these reports; returns its last line and exit code. */
function count(reports: Record<string, string>, ...outcomes: string[]): [line: string, status: number | null] {
  const folder = mkdtempSync(join(tmpdir(), "reports-"));
  try {
    for (const [name, text] of Object.entries(reports)) {
      writeFileSync(join(folder, `${name}.xml`), `<testsuites>${text}</testsuites>`);
    }
    const args = [...(runtime === "deno" ? ["run", "-A"] : []), script, folder, ...outcomes];
    const { stdout, status } = spawnSync(process.execPath, args, { encoding: "utf8" });
    return [stdout.trimEnd().split("\n").at(-1)!, status];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("count: sums over the reports of all steps", () => {
  const reports = { deno: PASSED + PASSED, node20: FILE + PASSED, node: PASSED };
  assert.deepEqual(count(reports, "deno:0", ":0", "node20,node:0"), ["4 passed, 0 failed", 0]);
});

test("count: failed and skipped tests are failures, wherever they are", () => {
  assert.deepEqual(count({ a: PASSED + FAILED + PASSED }, "a:1"), ["2 passed, 1 failed", 1]);
  assert.deepEqual(count({ a: FAILED + PASSED }, "a:0"), ["1 passed, 1 failed", 1]);
  assert.deepEqual(count({ a: SKIPPED + PASSED }, "a:0"), ["1 passed, 1 failed", 1]);
});

test("count: no report and no test in it are failures", () => {
  assert.deepEqual(count({ a: PASSED }, "a:0", "b:0"), ["1 passed, 1 failed", 1]);
  assert.deepEqual(count({ a: PASSED, b: "" }, "a:0", "b:0"), ["1 passed, 1 failed", 1]);
  assert.deepEqual(count({ a: PASSED, b: FILE }, "a:0", "b:0"), ["1 passed, 1 failed", 1], "a file is no test");
  assert.deepEqual(count({}), ["0 passed, 0 failed", 1]);
});

test("count: an exit code that no failed test explains is a failure", () => {
  assert.deepEqual(count({ a: PASSED }, "a:1"), ["1 passed, 1 failed", 1]);
  assert.deepEqual(count({ a: PASSED }, "a:0", ":1"), ["1 passed, 1 failed", 1]);
  assert.deepEqual(count({ a: PASSED + FAILED }, "a:1", ":124"), ["1 passed, 2 failed", 1]);
});
