/**
 * `deno task test [OPTION…]`: the tests to run after every change, in Deno, a file for each core; options go to
 * `deno test`. First it says how long they take, and at the end which tests it leaves out.
 */
import { spawnSync } from "node:child_process";
import process from "node:process";

const LEFT_OUT = [
  ["test:long", "processes, frameworks, loads, faults of Redis, soak, benchmarks once; 9 to 11 minutes"],
  ["test:node", "the same tests in Node 20 and the newest Node"],
  ["test:bun", "the same tests in Bun"],
  ["test:docs", "the site in Chromium; also test:browser, test:page, test:playground, test:dashboard"],
] as const;

console.error("Running the everyday tests in Deno; they take 2 to 4 minutes.\n");
const args = ["test", "-A", "--parallel", "--trace-leaks", "--ignore=tests/long,tests/jsr", ...process.argv.slice(2)];
const { status } = spawnSync(Deno.execPath(), [...args, "tests/"], { stdio: "inherit" });
console.error("Left out:");
for (const [task, tests] of LEFT_OUT) console.error(`  deno task ${task}  ${tests}`);
process.exit(status ?? 1);
