/** A step of CI that runs tests/_faulty.ts in this run-time: for tests/one_failure_test.ts. */
import process from "node:process";
import { gate } from "../scripts/_gate.ts";
import { runtime } from "./_test.ts";

const args = {
  deno: ["test", "-A", "--no-check", "--parallel"],
  node: ["--import=./scripts/transpile.mjs", "--test", "--test-reporter=spec"],
  bun: ["test"],
};
const command = [process.execPath, ...args[runtime], "./tests/_faulty.ts"];
process.exit(await gate([{ name: "step", limit: 120, hasTests: true, command }], 120) ? 0 : 1);
