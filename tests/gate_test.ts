/** The steps of CI: a limit ends everything that a step has started, and so does its end. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { runtime, test } from "./_test.ts";

const module = new URL("../scripts/_run.ts", import.meta.url).href;

/** Runs a line of the shell as a step, in a process of its own, and returns its outcome. */
function step(line: string, limit: number): Record<string, unknown> {
  const code = `import { run } from ${JSON.stringify(module)};
    const { seconds, ...outcome } = await run("sh", ["-c", ${JSON.stringify(line)}], { limit: ${limit} });
    console.log(JSON.stringify(outcome)); Deno.exit();`;
  const { stdout } = spawnSync(process.execPath, ["eval", code], {
    encoding: "utf8",
    cwd: fileURLToPath(new URL("..", import.meta.url)),
  });
  return JSON.parse(stdout.trimEnd().split("\n").at(-1)!);
}

/** Whether a process has this command line. */
function isRunning(line: string): boolean {
  return spawnSync("pgrep", ["-f", `^${line}$`]).status === 0;
}

// Both need /proc and pgrep.
if (runtime === "deno" && process.platform === "linux") {
  test("gate: what a step leaves behind is named and ended", () => {
    const { leftovers, ...outcome } = step("sleep 61.25 & echo started", 30);
    assert.deepEqual(outcome, { status: 0, timedOut: false, output: "started\n" });
    assert.match(`${leftovers}`, /^[^,]*sleep 61\.25[^,]*$/); // the shell's fork may not have become `sleep` yet
    assert.equal(isRunning("sleep 61.25"), false);
  });

  test("gate: a step that is not over in time is ended with all of its processes", () => {
    const outcome = step("sleep 61.5 & sleep 61.75", 1);
    assert.deepEqual([outcome["timedOut"], outcome["leftovers"]], [true, []]);
    assert.deepEqual([isRunning("sleep 61.5"), isRunning("sleep 61.75")], [false, false]);
  });

  test("gate: the exit code of a step is its command's", () => {
    assert.equal(step("exit 3", 30)["status"], 3);
  });
}
