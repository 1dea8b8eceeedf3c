/**
 * `deno task bench:all [--suite local|redis] [--only TEXT] [--rounds N] [--run-times deno,node,bun]`: all situations in
 * rounds in which the contenders take turns, on each run-time; medians with spread, written to bench/results/.
 */
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import os from "node:os";
import process from "node:process";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { NEWEST_NODE, nodeOfNpm } from "../scripts/_node.ts";
import type { Row } from "./_runner.ts";
import { figure, goalText, verdictsOf } from "./_verdict.ts";
import type { Situation } from "./_situation.ts";

const USAGE = "usage: deno task bench:all [--suite local|redis] [--only TEXT] [--rounds N] [--run-times deno,node,bun]";

/** The content of a file in bench/results. */
export interface Results {
  readonly suite: string;
  readonly date: string;
  readonly machine: string;
  readonly rounds: number;
  readonly runs: Readonly<Record<string, { readonly version: string; readonly rows: readonly Row[] }>>;
}

const COMMANDS: Readonly<Record<string, () => readonly string[]>> = {
  deno: () => [Deno.execPath(), "run", "-A", "--no-check", "--v8-flags=--expose-gc"],
  node: () => [newestNode(), "--expose-gc", "--no-warnings"],
  bun: () => ["bun", "--expose-gc"],
};

/** Node strips types from 22.18 on; an older one on the PATH is no use here. */
function newestNode(): string {
  const version = spawnSync("node", ["--version"], { encoding: "utf8" }).stdout ?? "";
  if (Number(/^v(\d+)/.exec(version)?.[1]) >= 24) return "node";
  return nodeOfNpm(NEWEST_NODE);
}

interface Ask {
  readonly suite: string;
  readonly only: string;
  readonly rounds: number;
  readonly runTimes: readonly string[];
}

function ask(args: string[]): Ask {
  const text = (value: string) => ({ type: "string", default: value } as const);
  const options = { suite: text("local"), only: text(""), rounds: text("9"), "run-times": text("deno,node,bun") };
  const { values } = parseArgs({ args, options });
  const { suite, only, rounds } = values;
  const runTimes = values["run-times"].split(",");
  const unknown = runTimes.find((name) => !(name in COMMANDS));
  if (unknown !== undefined) throw new RangeError(`--run-times must be of deno, node and bun, got "${unknown}"`);
  if (suite !== "local" && suite !== "redis") throw new RangeError(`--suite must be local or redis, got "${suite}"`);
  if (!/^[1-9]\d*$/.test(rounds)) throw new RangeError(`--rounds must be a whole number of 1 or more, got "${rounds}"`);
  return { suite, only, rounds: Number(rounds), runTimes };
}

function run(name: string, { suite, only, rounds }: Ask): Promise<Row[]> {
  const [command, ...args] = COMMANDS[name]!();
  const script = new URL("./_child.ts", import.meta.url).pathname;
  const child = spawn(command!, [...args, script, JSON.stringify({ suite, only, rounds })], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const rows: Row[] = [];
  createInterface({ input: child.stdout! }).on("line", (line) => {
    const row = JSON.parse(line) as Row;
    if (row.situation !== rows.at(-1)?.situation) console.log(`\n${name}: ${row.situation}`);
    console.log(`  ${figure(row.median).padStart(9)} ${row.unit} ±${Math.round(row.spread * 50)} %  ${row.contender}`);
    rows.push(row);
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => code === 0 ? resolve(rows) : reject(new Error(`${name} ended with ${code}`)));
  });
}

function versionOf(name: string): string {
  return (spawnSync(COMMANDS[name]!()[0]!, ["--version"], { encoding: "utf8" }).stdout ?? "").split("\n")[0]!.trim();
}

async function all(wanted: Ask): Promise<void> {
  const runs: Record<string, { version: string; rows: Row[] }> = {};
  for (const name of wanted.runTimes) runs[name] = { version: versionOf(name), rows: await run(name, wanted) };
  const [cpu] = os.cpus();
  const machine = `${os.cpus().length} × ${cpu?.model.trim()}, ${os.type()}`;
  const { suite, rounds } = wanted;
  const results: Results = { suite, date: new Date().toISOString().slice(0, 10), machine, rounds, runs };
  const { situations } = await (suite === "redis" ? import("./redis/situations.ts") : import("./situations.ts"));
  for (const [name, { rows }] of Object.entries(runs)) tellGoals(name, situations, rows);
  if (wanted.only !== "") return console.log("\nNothing written: --only leaves things out");
  const folder = new URL("results/", import.meta.url);
  mkdirSync(folder, { recursive: true });
  writeFileSync(new URL(`${suite}.json`, folder), JSON.stringify(results, undefined, 1) + "\n");
  console.log(`\nWritten to bench/results/${suite}.json`);
}

function tellGoals(name: string, situations: readonly Situation[], rows: readonly Row[]): void {
  console.log(`\n${name}: goals`);
  for (const verdict of situations.flatMap((situation) => verdictsOf(situation, rows))) {
    const met = verdict.met ? "met   " : "missed";
    const other = verdict.with && `, with ${verdict.with}`;
    console.log(
      `  ${met} ${figure(verdict.ratio).padStart(8)} ${goalText(verdict.goal).padEnd(8)} ${verdict.situation}${other}`,
    );
  }
}

if (import.meta.main) {
  try {
    await all(ask(process.argv.slice(2)));
  } catch (error) {
    console.error(`${(error as Error).message}\n${USAGE}`);
    process.exitCode = 2;
  }
  process.exit();
}
