/** A process with no holds or waits left exits as soon as its clients are closed, for every client. */
import assert from "node:assert/strict";
import { runProgram } from "../_program.ts";
import { redisTest } from "./_clients.ts";

redisTest("the process ends, whatever the client", async ({ server }) => {
  const { code, err } = await runProgram(new URL("./_exiting_process.ts", import.meta.url), [server.url]);
  assert.equal(code, 0, err);
});
