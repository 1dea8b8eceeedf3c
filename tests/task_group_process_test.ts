/** Failures of a task group that no call observes until the process ends: in processes of their own, of the same run-time. */
import assert from "node:assert/strict";
import { type End, runProgram } from "./_program.ts";
import { test } from "./_test.ts";

/** Ends before the failure is overdue: the wait for that must not keep the process alive. */
async function run(what: string): Promise<End> {
  const end = await runProgram(new URL("./_failing_group.ts", import.meta.url), [what]);
  assert.doesNotMatch(end.out, /kept alive/);
  return end;
}

test("task group: an unobserved failure is one warning when the process runs out of work, and no uncaught error", async () => {
  const { code, err } = await run("left alone");
  assert.equal(code, 0);
  assert.match(err, /INTERLOCK_UNOBSERVED/);
  assert.match(err, /Failure in task group "pages" not observed until the process ran out of work: .*page not found/);
  assert.equal(err.split("INTERLOCK_UNOBSERVED").length, 2);
  const handled = await run("handled");
  assert.deepEqual([handled.code, handled.out], [0, "handled"]);
  assert.match(handled.err, /Failure in task group not observed/);
});

test("task group: a scope that can never end reports the failure of its task when the process runs out of work", async () => {
  assert.match((await run("waits for ever")).err, /Failure in task group not observed until/);
});

test("task group: observed failures and cancellations are not reported", async () => {
  for (const what of ["joined", "scope", "cancelled", "aborted"]) {
    const { code, out, err } = await run(what);
    assert.deepEqual([code, out, err], [0, what === "joined" || what === "scope" ? "page not found" : "", ""]);
  }
});
