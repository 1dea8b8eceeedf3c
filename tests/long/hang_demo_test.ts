/** `deno task demo:hang` ends by itself, and shows what the watchdog reports of each of its programs. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { runtime, test } from "../_test.ts";

const main = fileURLToPath(new URL("../../examples/hang/main.ts", import.meta.url));
const before = runtime === "deno"
  ? ["run", "-A"]
  : runtime === "node"
  ? process.execArgv.filter((argument) => argument.startsWith("--import"))
  : [];

test("demo:hang: four programs, a finding for each, and an end", async () => {
  const child = spawn(process.execPath, [...before, main], { stdio: ["ignore", "pipe", "inherit"] });
  let out = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => out += text);
  const code = await new Promise((resolve) => child.on("close", resolve));
  assert.equal(code, 0, out);
  assert.match(
    out,
    /lock "stock" has been held for \d+\.\d s, .*acquired at forgotten_release\.ts:\d+; 1 call waits for it/,
  );
  assert.match(out, /self-wait: a call at re_entrancy\.ts:\d+ has waited for lock "ledger" .*re_entrancy\.ts:\d+/);
  assert.match(out, /cycle: 2 runs wait for each other .*\n.*one has held lock "accounts" for key "(alice|bob)"/);
  const last = /a call at stuck_holder\.ts:\d+ has waited for redis lock "nightly-report".*\n[^]*"id"/;
  assert.match(out, /Cannot start redis-server: apt-get install redis-server/.test(out) ? /Cannot/ : last);
});
