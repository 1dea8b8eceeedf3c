/**
 * Runs the test files in other run-times:
 * `deno run -A scripts/test_in.ts node20 node bun [--junit=DIR] [--package] [FILE…]`.
 *
 * - node20: Node 20, which strips no types: scripts/transpile.mjs hands every file to esbuild as it is loaded.
 * - node22, node24: the same.
 * - node: the newest Node, which strips types itself; only what it cannot run (decorators) goes through esbuild.
 * - bun: as it is.
 *
 * With --package, the tests get the built npm package instead of the source.
 * Without files, everything but tests/long and tests/jsr runs. Run-times that are not installed come from npm.
 */
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import process from "node:process";
import { parseArgs } from "node:util";
import { NEWEST_NODE, NODE_20, nodeOfNpm } from "./_node.ts";

const NODE_22 = "22.23.3";
const NODE_24 = "24.21.0";
const BUN = "1.4.5";

const runners: Record<string, (junit: string | undefined, files: string[]) => string[]> = {
  node20: (junit, files) => nodeTest(onPath("node", "v20.") ?? nodeOfNpm(NODE_20), junit, files),
  node22: (junit, files) => nodeTest(nodeOfNpm(NODE_22), junit, files),
  node24: (junit, files) => nodeTest(nodeOfNpm(NODE_24), junit, files),
  node: (junit, files) => nodeTest(nodeOfNpm(NEWEST_NODE), junit, files),
  bun: (junit, files) => [
    ...(onPath("bun", BUN) ? ["bun"] : ["npx", "--yes", `bun@${BUN}`]),
    ...["test", "--timeout=60000"],
    ...(values.package ? ["--preload=./scripts/built.mjs"] : []),
    ...(junit === undefined ? [] : ["--reporter=junit", `--reporter-outfile=${junit}`]),
    ...files,
  ],
};

function nodeTest(node: string, junit: string | undefined, files: string[]): string[] {
  const reporters = junit === undefined ? [] : ["spec", "stdout", "junit", junit].map(
    (value, i) => `--test-reporter${i % 2 === 0 ? "" : "-destination"}=${value}`,
  );
  const hooks = values.package ? ["--import=./scripts/built.mjs"] : [];
  // Half of their time these wait. Node's own choice is one process fewer, which suits the long tests.
  const jobs = chosen.length > 0 ? [] : [`--test-concurrency=${availableParallelism()}`];
  return [node, "--import=./scripts/transpile.mjs", ...hooks, "--test", ...jobs, ...reporters, ...files];
}

function onPath(command: string, version: string): string | undefined {
  const { stdout } = spawnSync(command, ["--version"], { encoding: "utf8" });
  return stdout?.startsWith(version) ? command : undefined;
}

function testFiles(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) =>
    /[a-z]_test\.ts$/.test(file) && !/^(long|jsr)\b/.test(file)
  );
  return files.sort().map((file) => `./${folder}/${file.replaceAll("\\", "/")}`);
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { junit: { type: "string" }, package: { type: "boolean" } },
});
const names = positionals.filter((one) => one in runners);
const chosen = positionals.filter((one) => !(one in runners));
const files = chosen.length > 0 ? chosen : testFiles("tests");
if (names.length === 0 || files.length === 0) throw new Error("Cannot test: nothing to run, or nowhere to run it");

let failed = false;
for (const name of names) {
  const [command, ...args] = runners[name]!(values.junit && `${values.junit}/${name}.xml`, files);
  console.log(`\n== ${name}: ${files.length} files, ${command}`);
  const { status } = spawnSync(command!, args, { stdio: ["ignore", "inherit", "inherit"] });
  failed ||= status !== 0;
}
process.exit(failed ? 1 : 0);
