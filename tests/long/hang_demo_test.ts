/** `deno task demo:hang` ends by itself, and shows what the watchdog reports of each of its programs. */
import assert from "node:assert/strict";
import { runProgram } from "../_program.ts";
import { test } from "../_test.ts";

test("demo:hang: four programs, a finding for each, and an end", async () => {
  const { code, out, err } = await runProgram(new URL("../../examples/hang/main.ts", import.meta.url));
  assert.equal(code, 0, out + err);
  assert.match(
    out,
    /lock "stock" has been held for \d+\.\d s, .*acquired at forgotten_release\.ts:\d+; 1 call waits for it/,
  );
  assert.match(out, /self-wait: a call at re_entrancy\.ts:\d+ has waited for lock "ledger" .*re_entrancy\.ts:\d+/);
  assert.match(out, /cycle: 2 runs wait for each other .*\n.*one has held lock "accounts" for key "(alice|bob)"/);
  const last = /a call at stuck_holder\.ts:\d+ has waited for redis lock "nightly-report".*\n[^]*"id"/;
  assert.match(out, /Cannot start redis-server: apt-get install redis-server/.test(out) ? /Cannot/ : last);
});
