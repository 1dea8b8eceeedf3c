/**
 * `deno task test [OPTION…] [FILE…]`: the tests to run after every change, in Deno; options go to `deno test`. First it
 * says how long they take, and at the end which tests failed and which it leaves out. `deno task check` has the types.
 * `deno task test:deep` adds --deep: tests by brute force, which it alone has, and the random and exhaustive ones with more
 * seeds and further; with --minutes N the random ones with new seeds.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { Groups, JOBS } from "./_groups.ts";
import { failuresOf, journalOf, show } from "./_reports.ts";
import { run } from "./_run.ts";
import { newSeeds } from "./_seeds.ts";
import { deepFiles, everyday } from "./_test_files.ts";

const LEFT_OUT = ["check", "test:deep", "test:node", "test:bun", "test:long", "test:npm"];
const { tasks } = JSON.parse(readFileSync("deno.json", "utf8")) as { tasks: Record<string, { description: string }> };
const isDeep = process.argv.includes("--deep");
const given = process.argv.slice(2);
const at = given.indexOf("--minutes");
if (at >= 0) {
  const minutes = Number(given[at + 1]);
  if (!(minutes > 0)) mistake(`--minutes must be a number above 0, got ${given[at + 1]}`);
  await newSeeds(minutes);
}
const files = given.filter((argument) => existsSync(argument));
const options = given.filter((argument) => !files.includes(argument) && argument !== "--deep");
const unknown = options.find((one, i) => !one.startsWith("-") && !options[i - 1]?.startsWith("-"));
if (unknown !== undefined) mistake(`there is no file ${unknown}`);
const what = files.length > 0
  ? `${files.length} ${files.length === 1 ? "file" : "files"} without checking types`
  : `the ${isDeep ? "deep" : "everyday"} tests`;
const time = files.length > 0 ? "" : ": one to two minutes on two quiet cores";
console.error(`Running ${what} in Deno${time}.\n`);
const folder = mkdtempSync(join(tmpdir(), "interlock-journal-"));
const journal = process.env["TEST_JOURNAL"] ?? folder;

function mistake(text: string): never {
  console.error(
    `Cannot test: ${text}\nusage: deno task ${isDeep ? "test:deep [--minutes N]" : "test [FILE…] [--filter TEXT]"}`,
  );
  process.exit(2);
}

const groups = new Groups();
const { status } = await run(Deno.execPath(), [
  ...["test", "-A", "--no-check", "--parallel", "--trace-leaks"],
  ...options,
  ...(files.length > 0 ? files : isDeep ? deepFiles() : groups.of(everyday())),
], {
  env: { TEST_JOURNAL: journal, DENO_JOBS: String(JOBS), ...(isDeep ? { TEST_DEPTH: "deep" } : {}) },
  working: (seconds) => `${seconds} s: still running`,
});

const failures = failuresOf(journalOf(journal));
rmSync(folder, { recursive: true });
groups[Symbol.dispose]();
if (status === 0) {
  console.error("Left out:");
  if (files.length > 0) console.error(`  deno check ${files.join(" ")}  only their types`);
  for (const task of LEFT_OUT) console.error(`  deno task ${task}  ${tasks[task]!.description}`);
} else if (failures.length === 0) console.error(`\nexit code ${status}, and no failed test says why`);
else for (const failed of failures.slice(0, 20)) console.error(`\n${show(failed)}`);
process.exit(status);
