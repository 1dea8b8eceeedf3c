/** What CI prints at its end. */
import assert from "node:assert/strict";
import { firstCause } from "../scripts/_reports.ts";
import { test } from "./_test.ts";

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
