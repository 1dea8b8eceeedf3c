/** What CI prints at its end. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { failuresOf, firstCause, journalOf, show } from "../scripts/_reports.ts";
import { test } from "./_test.ts";

test("reports: a test that has not ended has failed, and a failure is shown with the first lines of its error", () => {
  const folder = mkdtempSync(join(tmpdir(), "interlock-journal-"));
  const entries = [{ began: "a" }, { passed: "a" }, { began: "b" }, { failed: "b", error: "1 < 2\nat x" }, {
    began: "c",
  }];
  writeFileSync(join(folder, "1.jsonl"), entries.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
  const cases = journalOf(folder);
  rmSync(folder, { recursive: true });
  assert.deepEqual(cases.map(({ name }) => name), ["a", "b", "c"]);
  const failures = failuresOf(cases);
  assert.deepEqual(failures.map(({ name, failure }) => [name, failure]), [
    ["b", "1 < 2\nat x"],
    ["c", "still running when its step was ended"],
  ]);
  assert.equal(show(failures[0]!), "FAILED b\n    1 < 2\n    at x");
});

test("reports: the first cause of a failed check is its first error", () => {
  const types =
    "Check mod.ts\nTS2322 [ERROR]: no number\n    at lib/a.ts:1:2\n\nTS2304 [ERROR]: later\n\nerror: Type checking failed.";
  assert.equal(firstCause(types), "    TS2322 [ERROR]: no number\n        at lib/a.ts:1:2");
  assert.equal(
    firstCause("\x1b[1mfrom\x1b[0m a.ts:\n1 | a;\n\nerror: Found 1 not formatted file"),
    "    from a.ts:\n    1 | a;",
  );
  assert.equal(firstCause("Checking\nerror: no such file"), "    error: no such file");
});
