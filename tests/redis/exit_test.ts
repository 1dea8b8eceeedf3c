/** A process with no holds or waits left exits as soon as its client is closed, for every client. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { runtime } from "../_test.ts";
import { clients, redisTest } from "./_clients.ts";

for (const { name } of clients) {
  redisTest(`${name}: the process ends`, async ({ server }) => {
    const script = fileURLToPath(new URL("./_exiting_process.ts", import.meta.url));
    const flags = runtime === "deno"
      ? ["run", "-A", "--no-check"]
      : process.execArgv.filter((flag) => flag.startsWith("--import"));
    const child = spawn(process.execPath, [...flags, script, server.url, name], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    const alarm = setTimeout(() => child.kill("SIGKILL"), 20_000);
    const code = await new Promise((resolve) => child.once("exit", resolve));
    clearTimeout(alarm);
    assert.equal(code, 0);
  });
}
