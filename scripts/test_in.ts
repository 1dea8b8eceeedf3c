/**
 * Runs the test files in other run-times:
 * `deno run -A scripts/test_in.ts node20 node bun [--package] [--differing] [FILE…]`.
 *
 * - node20: Node 20, which strips no types: scripts/transpile.mjs hands every file to esbuild as it is loaded.
 * - node22, node24: the same.
 * - node: the newest Node, which strips types itself; only what it cannot run (decorators) goes through esbuild.
 * - bun: as it is.
 *
 * With --package, the tests get the built npm package instead of the source. Without files, everything but tests/long,
 * tests/jsr and tests/redis/model runs; with --differing, only the files in which a run-time may differ from Deno.
 * Run-times that are not installed come from npm.
 */
import { spawnSync } from "node:child_process";
import process from "node:process";
import { parseArgs } from "node:util";
import { Groups, JOBS, parts } from "./_groups.ts";
import { BUN, NEWEST_NODE, NODE_20, nodeOfNpm } from "./_node.ts";
import { run } from "./_run.ts";
import { differs, everywhere } from "./_test_files.ts";

const NODE_22 = "22.23.3";
const NODE_24 = "24.21.0";

/** The commands that together run the files, at the same time. */
const runners: Record<string, () => string[][]> = {
  node20: () => nodeTest(onPath("node", "v20.") ?? nodeOfNpm(NODE_20)),
  node22: () => nodeTest(nodeOfNpm(NODE_22)),
  node24: () => nodeTest(nodeOfNpm(NODE_24)),
  node: () => nodeTest(nodeOfNpm(NEWEST_NODE)),
  bun: () =>
    parts(files, JOBS).map((part) => [
      ...(onPath("bun", BUN) ? ["bun"] : ["npx", "--yes", `bun@${BUN}`]),
      ...["test", "--timeout=120000"],
      ...(values.package ? ["--preload=./scripts/built.mjs"] : []),
      ...part.map((file) => `./${file}`),
    ]),
};

function nodeTest(node: string): string[][] {
  const hooks = values.package ? ["--import=./scripts/built.mjs"] : [];
  // Node's own choice of jobs is one fewer than there are cores, which suits the long tests.
  const jobs = chosen.length > 0 ? [] : [`--test-concurrency=${JOBS}`];
  const options = ["--import=./scripts/transpile.mjs", ...hooks, "--test", "--test-reporter=spec", ...jobs];
  return [[node, ...options, ...(chosen.length > 0 ? files : groups.of(files, true))]];
}

function onPath(command: string, version: string): string | undefined {
  const { stdout } = spawnSync(command, ["--version"], { encoding: "utf8" });
  return stdout?.startsWith(version) ? command : undefined;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { package: { type: "boolean" }, differing: { type: "boolean" } },
});
const names = positionals.filter((one) => one in runners);
const chosen = positionals.filter((one) => !(one in runners));
const files = chosen.length > 0 ? chosen : everywhere().filter((file) => !values.differing || differs(file));
if (names.length === 0 || files.length === 0) throw new Error("Cannot test: nothing to run, or nowhere to run it");

const groups = new Groups();
let failed = false;
for (const name of names) {
  const commands = runners[name]!();
  console.log(`\n== ${name}: ${files.length} files, ${commands[0]![0]}`);
  const working = (seconds: number) => `${seconds} s: still running in ${name}`;
  const outcomes = await Promise.all(commands.map(([command, ...args]) => run(command!, args, { working })));
  failed ||= outcomes.some(({ status }) => status !== 0);
}
groups[Symbol.dispose]();
process.exit(failed ? 1 : 0);
