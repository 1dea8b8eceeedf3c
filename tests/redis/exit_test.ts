/** A process with no holds or waits left exits as soon as its client is closed, for every client. */
import assert from "node:assert/strict";
import { runProgram } from "../_program.ts";
import { clients, redisTest } from "./_clients.ts";

for (const { name } of clients) {
  redisTest(`${name}: the process ends`, async ({ server }) => {
    const program = new URL("./_exiting_process.ts", import.meta.url);
    const { code, err } = await runProgram(program, [server.url, name]);
    assert.equal(code, 0, err);
  });
}
