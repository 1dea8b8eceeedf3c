/** One fault is one failure: its neighbours pass, and the end of what CI prints says which test it was, and why. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { runtime, test } from "./_test.ts";

/** Runs a step with that fault. Returns what CI prints after the last step. */
async function endWith(fault: string): Promise<string> {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const args = { deno: ["run", "-A"], node: ["--import=./scripts/transpile.mjs"], bun: ["run"] }[runtime];
  const options = { cwd: fileURLToPath(new URL("..", import.meta.url)), env: { ...env, FAULT: fault, NO_COLOR: "1" } };
  const output = await new Promise<string>((resolve) =>
    execFile(process.execPath, [...args, "./tests/_faulty_step.ts"], options, (_, stdout) => resolve(stdout))
  );
  return output.slice(output.lastIndexOf("===== "));
}

for (
  const [fault, cause] of [
    ["an assertion", /step: FAILED faulty\n.*AssertionError[^]*as it should be/],
    ["a hang", /step: FAILED faulty\n.*not over after 200 ms \(the timeout of this test\), under a fake clock/],
    ["an uncaught error", /step: FAILED faulty\n[^]*thrown in a timer/],
  ] as const
) {
  test(`one failure: ${fault} is one, and has its cause`, async () => {
    const end = await endWith(fault);
    assert.match(end, cause);
    assert.match(end, /\n3 passed, 1 failed\n$/);
    assert.ok(end.split("\n").length < 40, end);
  });
}

test("one failure: the tests of a process that is killed are known, and which of them was running", async () => {
  const end = await endWith("a killed process");
  assert.match(end, /step: FAILED faulty\n.*still running when its step was ended/);
  assert.match(end, / 1 failed\n$/);
});

test("one failure: a file that cannot be loaded", async () => {
  assert.match(await endWith("a file that does not load"), /thrown by a file/);
});
