/**
 * `deno run -A scripts/run_tests.ts RUN-TIME… [--deep] [--minutes N] [--differing] [--package] [OPTION…] [FILE…]`: runs
 * test files in these run-times, one after the other. At the end it shows which tests failed.
 *
 * - deno: the everyday tests; `deno task check` has their types. Other options go to `deno test`.
 * - node20, node22: scripts/transpile.mjs hands every file to esbuild as it is loaded, as these Nodes strip no types.
 * - node24, node: these strip types; only what they cannot run (decorators) goes through esbuild.
 * - bun: as it is.
 *
 * Without files, run-times other than Deno get everything but tests/long, tests/jsr and tests/redis/model; with
 * --differing only the files in which a run-time may differ from Deno. With --deep: tests by brute force, and the random
 * and exhaustive ones with more seeds and further; with --minutes N the random ones with new seeds. With --package, the
 * tests get the built npm package instead of the source. Run-times that are not installed come from npm.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { groupsOf, JOBS, parts } from "./_groups.ts";
import { BUN, nodeOfNpm, NODES } from "./_node.ts";
import { failuresOf, journalOf, show, withFailuresOfBun } from "./_reports.ts";
import { run } from "./_run.ts";
import { deepFiles, differs, everyday, everywhere, randomFiles } from "./_test_files.ts";

const RUN_TIMES = ["deno", "bun", ...Object.keys(NODES)];
const OWN_OPTIONS = ["--deep", "--differing", "--package"];
const DENO_TEST = [Deno.execPath(), "test", "-A", "--no-check", "--parallel"];

const given = process.argv.slice(2);
const runTimes = given.filter((one) => RUN_TIMES.includes(one));
const chosen = given.filter((one) => !RUN_TIMES.includes(one) && existsSync(one));
const options = given.filter((one) => ![...runTimes, ...chosen, ...OWN_OPTIONS].includes(one));
const [isDeep, isDiffering, isPackage] = OWN_OPTIONS.map((option) => given.includes(option));
const unknown = options.find((one, i) => !one.startsWith("-") && !options[i - 1]?.startsWith("-"));
if (runTimes.length === 0) throw new Error(`Cannot test: no run-time of ${RUN_TIMES} is named`);
if (unknown !== undefined) throw new Error(`Cannot test: there is no file ${unknown}`);

const folder = mkdtempSync(join(tmpdir(), "interlock-tests-"));

function filesOf(runTime: string): string[] {
  if (chosen.length > 0) return chosen;
  if (isDeep) return deepFiles();
  if (runTime === "deno") return everyday();
  return everywhere().filter((file) => !isDiffering || differs(file));
}

/** The commands that together run the files, at the same time. */
function commandsOf(runTime: string, files: string[]): string[][] {
  if (runTime === "bun") return parts(files, JOBS).map(inBun);
  if (runTime !== "deno") return [inNode(NODES[runTime]!, files)];
  return [[
    ...DENO_TEST,
    "--trace-leaks",
    ...options,
    ...(chosen.length > 0 || isDeep ? files : groupsOf(files, folder)),
  ]];
}

function inBun(files: string[]): string[] {
  const bun = onPath("bun", BUN) ?? ["npx", "--yes", `bun@${BUN}`];
  const hooks = isPackage ? ["--preload=./scripts/built.mjs"] : [];
  return [...bun, "test", "--timeout=120000", ...hooks, ...files.map((file) => `./${file}`)];
}

function inNode(version: string, files: string[]): string[] {
  const node = onPath("node", `v${Number.parseInt(version)}.`) ?? [nodeOfNpm(version)];
  const hooks = isPackage ? ["--import=./scripts/built.mjs"] : [];
  // Node's own choice of jobs is one fewer than there are cores, which suits the long tests.
  const args = chosen.length > 0 ? files : [`--test-concurrency=${JOBS}`, ...groupsOf(files, folder, true)];
  return [...node, "--import=./scripts/transpile.mjs", ...hooks, "--test", "--test-reporter=spec", ...args];
}

function onPath(command: string, version: string): string[] | undefined {
  const { stdout } = spawnSync(command, ["--version"], { encoding: "utf8" });
  return stdout?.startsWith(version) ? [command] : undefined;
}

/** Prints each seed that fails. Such a seed belongs into the list of tests/_random.ts. */
async function tryNewSeeds(minutes: number): Promise<number> {
  if (!(minutes > 0)) throw new RangeError("Cannot test: --minutes must be a number above 0");
  const failed: number[] = [];
  let tried = 0;
  for (; performance.now() < 60_000 * minutes; tried++) {
    const seed = Math.floor(Math.random() * 2 ** 31);
    const command = [...DENO_TEST, "--quiet", "--reporter=dot", ...randomFiles()];
    const { status } = await run(command, { env: { SEED: String(seed) }, limit: 600 });
    if (status !== 0) failed.push(seed);
    console.log(`\nSEED=${seed}: ${status === 0 ? "passed" : "FAILED"}`);
  }
  console.log(`\n${tried} seeds, ${failed.length} failed`);
  for (const seed of failed) console.log(`SEED=${seed} deno task test FILE`);
  return failed.length;
}

async function runFiles(): Promise<number> {
  const journal = process.env["TEST_JOURNAL"] ?? join(folder, "journal");
  mkdirSync(journal, { recursive: true });
  const env = { TEST_JOURNAL: journal, DENO_JOBS: String(JOBS), ...(isDeep ? { TEST_DEPTH: "deep" } : {}) };
  let output = "", failed = 0;
  for (const runTime of runTimes) {
    const files = filesOf(runTime);
    const commands = commandsOf(runTime, files);
    console.error(`\n== ${runTime}: ${files.length} files, ${commands[0]![0]}`);
    const doing = `running in ${runTime}`;
    for (const outcome of await Promise.all(commands.map((command) => run(command, { env, doing })))) {
      if (outcome.status !== 0) failed++;
      output += outcome.output;
    }
  }
  const failures = failuresOf(withFailuresOfBun(journalOf(journal), output));
  for (const failure of failures.slice(0, 20)) console.error(`\n${show(failure)}`);
  if (failed === 0) console.error("\nLeft out: check, test:deep, test:node, test:bun, test:long, test:npm");
  return failed;
}

const minutes = options.indexOf("--minutes");
const failed = await (minutes < 0 ? runFiles() : tryNewSeeds(Number(options[minutes + 1])));
rmSync(folder, { recursive: true });
process.exit(failed === 0 ? 0 : 1);
