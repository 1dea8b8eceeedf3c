/** The steps of CI: a limit ends everything that a step has started, and so does its end. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { runtime, test } from "./_test.ts";
import { until } from "./_tools.ts";

const module = new URL("../scripts/_run.ts", import.meta.url).href;

/** Runs a line of the shell as a step, in a process of its own, and returns its outcome. */
function step(line: string, limit: number): Record<string, unknown> {
  const code = `import { run } from ${JSON.stringify(module)};
    const { seconds, ...outcome } = await run(["sh", "-c", ${JSON.stringify(line)}], { limit: ${limit} });
    console.log(JSON.stringify(outcome)); Deno.exit();`;
  const { stdout } = spawnSync(process.execPath, ["eval", code], {
    encoding: "utf8",
    cwd: fileURLToPath(new URL("..", import.meta.url)),
  });
  return JSON.parse(stdout.trimEnd().split("\n").at(-1)!);
}

/** Waits until no process has this command line: one that was killed ends a moment later. */
function ended(line: string): Promise<void> {
  return until(() => spawnSync("pgrep", ["-f", `^${line}$`]).status !== 0);
}

/** A command that no other run of the tests has. */
const sleep = (seconds: number) => `sleep ${seconds}.${process.pid}`;

// Both need /proc and pgrep.
if (runtime === "deno" && process.platform === "linux") {
  test("gate: what a step leaves behind is named and ended", async () => {
    const line = sleep(301);
    const { leftovers, ...outcome } = step(`${line} & echo started`, 30);
    assert.deepEqual(outcome, { status: 0, timedOut: false, output: "started\n" });
    const [left, ...others] = leftovers as string[];
    assert.ok(left?.includes(line) && others.length === 0, `${leftovers}`); // or the shell's fork before it sleeps
    await ended(line);
  });

  test("gate: a step that is not over in time is ended with all of its processes", async () => {
    const lines = [sleep(302), sleep(303)];
    const outcome = step(lines.join(" & "), 1);
    assert.deepEqual([outcome["timedOut"], outcome["leftovers"]], [true, []]);
    for (const line of lines) await ended(line);
  });

  test("gate: the exit code of a step is its command's", () => {
    assert.equal(step("exit 3", 30)["status"], 3);
  });
}
