/** Failures of a pool that no call observes until the process ends: in processes of their own, of the same run-time. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { runtime, test } from "../_test.ts";

interface End {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

async function run(what: string): Promise<End> {
  const script = fileURLToPath(new URL("./_failing_process.ts", import.meta.url));
  const flags = runtime === "deno"
    ? ["run", "-A", "--no-check"]
    : process.execArgv.filter((flag) => flag.startsWith("--import"));
  const child = spawn(process.execPath, [...flags, script, what], { stdio: ["ignore", "pipe", "pipe"] });
  const alarm = setTimeout(() => child.kill("SIGKILL"), 9000); // before the warning that must not keep it alive
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const [code, out, err] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  clearTimeout(alarm);
  return { code, out: out.trim(), err };
}

test("Pool: a failure that is not observed is an uncaught error when the process has run out of work", async () => {
  for (const what of ["not observed", "waits for ever"]) {
    const { code, err } = await run(what);
    assert.notEqual(code, 0);
    assert.notEqual(code, null);
    assert.match(err, /page not found/);
  }
});

test("Pool: each unobserved failure reaches the handler of uncaught errors, in order", async () => {
  assert.deepEqual((await run("caught")).out.split(/\s*\n/), ["caught one", "caught two"]);
});

test("Pool: an observed failure ends no process", async () => {
  for (const what of ["joined", "read"]) assert.deepEqual(await run(what), { code: 0, out: "", err: "" });
});
