/**
 * Failures that no call observes until the process ends: in processes of their own, of the same run-time. Those of a
 * process that goes on are in tests/pool/failures_test.ts and tests/task_group_end_test.ts.
 */
import assert from "node:assert/strict";
import { type End, runProgram } from "../_program.ts";
import { test } from "../_test.ts";

/** Ends before a failure is overdue: the wait for that must not keep the process alive. */
async function run(what: string): Promise<End> {
  const end = await runProgram(new URL("./_unobserved_process.ts", import.meta.url), [what]);
  assert.doesNotMatch(end.out, /kept alive/);
  return end;
}

const uncaught: Record<string, RegExp> = {
  "not observed": /page not found/,
  "waits for ever": /page not found/,
  "too many": /SyncError: Cannot end pool "pages": failures beyond the first 1000 were not observed: 5/,
  "behind maps": /never read/,
};

for (const [what, message] of Object.entries(uncaught)) {
  test(`Pool: an uncaught error when the process has run out of work: a failure, ${what}`, async () => {
    const { code, err } = await run(what);
    assert.ok(code !== 0 && code !== null, `${code}`);
    assert.match(err, message);
  });
}

test("Pool: each unobserved failure reaches the handler of uncaught errors, in order", async () => {
  assert.deepEqual((await run("caught")).out.split(/\s*\n/), ["caught one", "caught two"]);
});

test("Pool: at most 1,000 pools are kept for the end of the process", async () => {
  assert.equal((await run("of too many pools")).out, "1000");
});

for (const where of ["left alone in a group", "handled in a group", "in a scope that waits for ever"]) {
  test(`task group: one warning when the process has run out of work, and no uncaught error: a failure, ${where}`, async () => {
    const { code, err } = await run(where);
    if (!where.startsWith("in a scope")) assert.equal(code, 0);
    assert.match(err, /Failure in task group "pages" not observed until the process ran out of work: .*page not found/);
    assert.match(
      err,
      where.startsWith("in a scope") ? /; it still waits for its tasks/ : /; use TaskGroup.scope/,
    );
    assert.equal(err.split("INTERLOCK_UNOBSERVED").length, 2);
  });
}

test("observed failures and cancellations end no process, and are not reported", async () => {
  for (const what of ["observed", "cancelled"]) assert.deepEqual(await run(what), { code: 0, out: "", err: "" });
});
