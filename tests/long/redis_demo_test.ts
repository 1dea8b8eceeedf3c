/** `deno task demo:redis` says in one line why it cannot begin. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { PASSWORD } from "../_secrets.ts";
import { runtime, test } from "../_test.ts";

const main = fileURLToPath(new URL("../../examples/demo/redis.ts", import.meta.url));
const before = runtime === "deno"
  ? ["run", "-A"]
  : process.execArgv.filter((argument) => argument.startsWith("--import"));

test("demo:redis: a server that cannot be reached ends it with its address, not with its password", async () => {
  const env = { ...process.env, REDIS_URL: `redis://:${PASSWORD}@127.0.0.1:1` };
  const child = spawn(process.execPath, [...before, main], { env, stdio: ["ignore", "inherit", "pipe"] });
  let out = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => out += text);
  assert.equal(await new Promise((resolve) => child.on("close", resolve)), 1);
  assert.ok(!out.includes(PASSWORD), out);
  assert.match(out, /^Cannot connect to Redis at 127\.0\.0\.1:1: connect ECONNREFUSED 127\.0\.0\.1:1$/m);
});
