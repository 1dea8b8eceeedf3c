/** What a watchdog reports when the process runs out of work: in processes of their own, of the same run-time. */
import assert from "node:assert/strict";
import { runProgram } from "../_program.ts";
import { test } from "../_test.ts";

async function run(way: string): Promise<string[]> {
  const { code, out, err } = await runProgram(new URL("./_ending_process.ts", import.meta.url), [way]);
  assert.deepEqual([code, err], [0, ""], way); // neither kept alive nor ended by it
  return out.split("\n").filter((line) => line !== "");
}

test("watchdog: a call that waits when the process ends is reported, with both places", async () => {
  const [first, ...rest] = await run("forgotten release");
  assert.match(
    first!,
    /^waited: Interlock: wait at exit: the process ends while a call at \S+:\d+ has waited for lock "orders" for \d+ ms, since [\d:]+; held for \d+ ms, acquired at \S+:\d+$/,
  );
  assert.deepEqual(rest, []);
  const [event] = await run("event");
  assert.match(
    event!,
    /^waited: Interlock: wait at exit: the process ends while a call at \S+ has waited for event "ready" .*; nothing has ended its wait$/,
  );
});

test("watchdog: a deadlock at the end of the process is reported as one", async () => {
  const found = await run("acquired twice");
  assert.equal(found.length, 1);
  // Bun leaves out a caller that returns the promise of its call.
  assert.match(found[0]!, /^self: Interlock: self-wait: a call( at \S+)? has waited for lock "orders"/);
});

test("watchdog: a queue at the end of the process is one finding", async () => {
  const found = await run("many waiters");
  assert.equal(found.length, 1);
  assert.match(found[0]!, /\(48 other calls wait, too\)/);
});

test("watchdog: at the end of the process, a hold is no finding, and none is repeated or made after its disposal", async () => {
  assert.deepEqual(await run("held"), []);
  assert.deepEqual(await run("disposed of"), []);
  assert.equal((await run("again")).length, 1);
});
