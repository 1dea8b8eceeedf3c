/** A step of CI that runs tests/_faulty.ts in this run-time: for tests/one_failure_test.ts. */
import process from "node:process";
import { gate } from "../scripts/_gate.ts";
import { runtime } from "./_test.ts";

const file = "./tests/_faulty.ts";
const commands = {
  deno: (report: string) => ["test", "-A", "--no-check", "--parallel", `--junit-path=${report}`, file],
  node: (report: string) => [
    ...["--import=./scripts/transpile.mjs", "--test"],
    ...["--test-reporter=spec", "--test-reporter-destination=stdout"],
    ...["--test-reporter=junit", `--test-reporter-destination=${report}`],
    file,
  ],
  bun: (report: string) => ["test", "--reporter=junit", `--reporter-outfile=${report}`, file],
};
const command = (folder: string) => [process.execPath, ...commands[runtime](`${folder}/${runtime}.xml`)];
process.exit(await gate([{ name: "step", limit: 120, reports: [runtime], command }], 120) ? 0 : 1);
