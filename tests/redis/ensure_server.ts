/**
 * Makes sure that a Redis server can be started here: finds one, installs one where that is possible without asking
 * (Debian or Ubuntu as root, Homebrew), or exits with the one line to type. `deno task test` runs it first.
 */
import { spawnSync } from "node:child_process";
import process from "node:process";
import { run } from "../../scripts/_run.ts";
import { findServer } from "./_find_server.ts";

const installers: readonly (readonly [probe: string, needsRoot: boolean, lines: readonly string[]])[] = [
  ["apt-get", true, [
    "apt-get -qq -o Acquire::Retries=3 update",
    "apt-get -qq -o Acquire::Retries=3 install -y redis-server",
  ]],
  ["brew", false, ["brew install redis"]],
];

async function typed(line: string): Promise<boolean> {
  return (await run(line.split(" "), { doing: `at ${line}` })).status === 0;
}

async function install(): Promise<boolean> {
  for (const [probe, needsRoot, lines] of installers) {
    if (spawnSync(probe, ["--version"], { stdio: "ignore" }).status !== 0) continue;
    if (needsRoot && process.getuid?.() !== 0) continue;
    console.log(`No redis-server found, installing one: ${lines.join(" && ")}`);
    let isDone = true;
    for (const line of lines) isDone &&= await typed(line);
    if (isDone) return true;
  }
  return false;
}

if (findServer() === undefined && !(await install() && findServer() !== undefined)) {
  console.error(
    "The Redis tests need a server. Type: sudo apt-get install -y redis-server (or brew install redis), " +
      "or set REDIS_SERVER to the path of redis-server or valkey-server.",
  );
  process.exit(1);
}
