/** Failures of a pool that no call observes until the process ends: in processes of their own, of the same run-time. */
import assert from "node:assert/strict";
import { type End, runProgram } from "../_program.ts";
import { test } from "../_test.ts";

/** Ends before the warning, which must not keep the process alive. */
async function run(what: string): Promise<End> {
  const end = await runProgram(new URL("./_failing_process.ts", import.meta.url), [what]);
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

test("Pool: an observed failure ends no process", async () => {
  for (const what of ["joined", "read", "none of too many"]) {
    assert.deepEqual(await run(what), { code: 0, out: "", err: "" });
  }
});
