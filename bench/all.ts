/**
 * `deno task bench:all [--busy] [--suite local|redis] [--only REGEXP] [--rounds N] [--run-times deno,node20,node,bun]`: one
 * session of all situations on each run-time, first with all contenders of a situation in turns in one process, then each
 * in processes of its own. Medians with spread; they replace those in bench/results/.
 */
import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { parseArgs } from "node:util";
import type { Order } from "./_child.ts";
import { figure } from "./_markdown.ts";
import { machine, peerVersion, type Run, save } from "./_results.ts";
import { measured, RUN_TIMES, versionOf } from "./_run_times.ts";
import type { Row } from "./_runner.ts";
import { goalText, verdictsOf } from "./_verdict.ts";
import type { Situation } from "./_situation.ts";

const USAGE =
  `usage: deno task bench:all [--busy] [--suite local|redis] [--only REGEXP] [--rounds N] [--run-times ${RUN_TIMES}]`;

/** How many processes of its own each contender has. */
const PROCESSES = 3;

const PEERS: Readonly<Record<Order["suite"], readonly string[]>> = {
  local: [
    ...["async-lock", "async-mutex", "async-sema", "await-lock", "bottleneck", "es-toolkit", "fastq", "limiter"],
    ...["p-limit", "p-map", "p-queue", "p-throttle", "@esfx/async-manualresetevent", "@esfx/async-readerwriterlock"],
  ],
  redis: ["bottleneck", "ioredis5", "rate-limiter-flexible", "redis-semaphore", "redlock"],
};

interface Ask extends Order {
  readonly isBusy: boolean;
  readonly runTimes: readonly string[];
}

function ask(args: string[]): Ask {
  const text = (value: string) => ({ type: "string", default: value } as const);
  const { values } = parseArgs({
    args,
    options: {
      busy: { type: "boolean", default: false },
      suite: text("local"),
      only: text(""),
      rounds: text("7"),
      "run-times": text(RUN_TIMES.join()),
    },
  });
  const { suite, only, rounds, busy: isBusy } = values;
  const runTimes = values["run-times"].split(",");
  const unknown = runTimes.find((name) => !RUN_TIMES.includes(name));
  if (unknown !== undefined) throw new RangeError(`--run-times must be of ${RUN_TIMES.join(", ")}, got "${unknown}"`);
  if (suite !== "local" && suite !== "redis") throw new RangeError(`--suite must be local or redis, got "${suite}"`);
  if (!/^[1-9]\d*$/.test(rounds)) throw new RangeError(`--rounds must be a whole number of 1 or more, got "${rounds}"`);
  return { suite, only, rounds: Number(rounds), isBusy, runTimes };
}

async function run(runTime: string, wanted: Ask): Promise<Run> {
  const { suite, only, rounds } = wanted;
  const rows = await measured(runTime, { suite, only, rounds });
  const alone: Row[] = [];
  for (const situation of new Set(rows.map((row) => row.situation))) {
    console.log(`\n${runTime}: ${situation}`);
    const shared = rows.filter((row) => row.situation === situation);
    const own = await inTheirOwn(runTime, situation, shared.map(({ contender }) => contender), wanted);
    for (const [index, { contender, median, unit }] of shared.entries()) {
      console.log(`${[median, own[index]!.median, own[index]!.cold!].map(cell).join("")} ${unit}  ${contender}`);
    }
    alone.push(...own);
  }
  return { version: versionOf(runTime), rows, alone };
}

function cell(value: number): string {
  return figure(value).padStart(12);
}

/** Contenders take turns here, too, a process each. Of several processes the best counts: the machine has other work. */
async function inTheirOwn(
  runTime: string,
  situation: string,
  contenders: readonly string[],
  order: Order,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (let turn = 0; turn < PROCESSES; turn++) {
    for (const contender of contenders) {
      rows.push(...await measured(runTime, { ...order, alone: { situation, contender } }));
    }
  }
  return contenders.map((name) => {
    const [best, ...others] = rows.filter(({ contender }) => contender === name).sort((a, b) => a.median - b.median);
    return { ...best!, cold: Math.min(best!.cold!, ...others.map(({ cold }) => cold!)) };
  });
}

/** Runs `fn` while one core is busy. */
async function whileBusy<T>(fn: () => Promise<T>): Promise<T> {
  const load: ChildProcess = spawn(process.execPath, ["eval", "for (;;);"], { stdio: "ignore" });
  try {
    return await fn();
  } finally {
    load.kill("SIGKILL");
  }
}

async function all(wanted: Ask): Promise<void> {
  const { suite, rounds, isBusy } = wanted;
  const { situations } = await (suite === "redis" ? import("./redis/situations.ts") : import("./situations.ts"));
  const runs: Record<string, Run> = {};
  for (const name of wanted.runTimes) {
    const session = () => run(name, wanted);
    runs[name] = isBusy ? await whileBusy(session) : await session();
  }
  for (const [name, run] of Object.entries(runs)) tellGoals(name, situations, run);
  const date = new Date().toISOString().slice(0, 10);
  console.log(`\nWritten to ${save({ suite, date, machine: machine(), isBusy, rounds, peers: peersOf(suite), runs })}`);
}

/** The versions of the peers of a suite. */
function peersOf(suite: Order["suite"]): Record<string, string> {
  return Object.fromEntries(PEERS[suite].map((name) => [name, peerVersion(name)]));
}

function tellGoals(runTime: string, situations: readonly Situation[], run: Run): void {
  console.log(`\n${runTime}: goals`);
  for (const { situation, goal, met, worst, with: other } of verdictsOf(situations, runTime, [run])) {
    const text = `${met ? "met   " : "missed"} ${figure(worst).padStart(8)} ${goalText(goal).padEnd(18)} ${situation}`;
    console.log(`  ${text}${other && `, with ${other}`}`);
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
