/** How each run-time is started for a benchmark, its version, and the rows that it prints. */
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { transformSync } from "esbuild";
import { NEWEST_NODE, NODE_20, nodeOfNpm } from "../scripts/_node.ts";
import type { Order } from "./_child.ts";
import type { Row } from "./_runner.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** A way to start bench/_child: a command, its options, and the file. */
type Command = readonly [string, ...string[]];

const COMMANDS: Readonly<Record<string, () => Command>> = {
  deno: () => [process.execPath, "run", "-A", "--no-check", "--v8-flags=--expose-gc", child()],
  node20: () => [nodeOf(NODE_20), "--expose-gc", "--no-warnings", child(javaScript(), "js")],
  node: () => [nodeOf(NEWEST_NODE), "--expose-gc", "--no-warnings", child()],
  bun: () => ["bun", "--expose-gc", child()],
};

export const RUN_TIMES: readonly string[] = Object.keys(COMMANDS);

const commands = new Map<string, Command>();

function commandOf(runTime: string): Command {
  const command = commands.get(runTime) ?? COMMANDS[runTime]!();
  commands.set(runTime, command);
  return command;
}

/** The rows of one process. */
export function measured(runTime: string, order: Order): Promise<Row[]> {
  const [command, ...args] = commandOf(runTime);
  const child = spawn(command, [...args, JSON.stringify(order)], { stdio: ["ignore", "pipe", "inherit"] });
  const rows: Row[] = [];
  createInterface({ input: child.stdout! }).on("line", (line) => rows.push(JSON.parse(line)));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => code === 0 ? resolve(rows) : reject(new Error(`${runTime} ended with ${code}`)));
  });
}

export function versionOf(runTime: string): string {
  const { stdout } = spawnSync(commandOf(runTime)[0], ["--version"], { encoding: "utf8" });
  return (stdout ?? "").split("\n")[0]!.trim().replace(/^(deno |v)/, "");
}

function child(folder = root, extension = "ts"): string {
  return join(folder, `bench/_child.${extension}`);
}

/** The one on the PATH, if it has that version. */
function nodeOf(version: string): string {
  const { stdout } = spawnSync("node", ["--version"], { encoding: "utf8" });
  return stdout?.trim() === `v${version}` ? "node" : nodeOfNpm(version);
}

/** A copy of the sources for a Node that strips no types: a loader would take a second for each process. */
function javaScript(): string {
  const folder = mkdtempSync(join(tmpdir(), "interlock-bench-"));
  process.on("exit", () => rmSync(folder, { recursive: true }));
  const files = [
    "ls-files",
    "--cached",
    "--others",
    "--exclude-standard",
    "mod.ts",
    "lib",
    "bench/*.ts",
    "tests/redis",
  ];
  const { stdout } = spawnSync("git", ["-C", root, ...files], { encoding: "utf8" });
  for (const file of stdout.split("\n").filter((name) => name.endsWith(".ts"))) {
    const { code } = transformSync(readFileSync(join(root, file), "utf8"), { loader: "ts", target: "node20" });
    const to = join(folder, file.replace(/ts$/, "js"));
    mkdirSync(dirname(to), { recursive: true });
    writeFileSync(to, code.replaceAll(/(["'`]\.{1,2}\/[^"'`]*)\.ts\b/g, "$1.js"));
  }
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  return folder;
}
