/**
 * `deno task bench:shutdown [--passes N] [--minutes N] [--only TEXT]`: the cost of a graceful shutdown while it does not
 * happen: CPU time per request of a hello-world server, next to a bare one, and heap per idle connection.
 *
 * Every server is a process of its own, started anew for each pass: two processes of the same program differ by some
 * percent. All servers of a run-time serve in turns, a few hundred requests each, so other work on the machine hits them
 * alike. At the end of `--minutes` (default: 8) each run-time has had its share, and the passes so far count.
 */
import { spawnSync } from "node:child_process";
import process from "node:process";
import { parseArgs } from "node:util";
import { table } from "../_markdown.ts";
import { machine, peerVersion, type Run, save } from "../_results.ts";
import { quantile, type Row } from "../_runner.ts";
import { program, type ProgramName } from "../../tests/shutdown/runtimes.ts";
import { Contender } from "./contender.ts";
import { ASYNC, BARE, cpuOf, HEAP, type Kind, OURS, PEERS, ratioOf } from "./situations.ts";

interface Group {
  readonly title: string;
  readonly runTime: ProgramName;
  readonly kind: Kind;
  readonly names: readonly string[];
}

/** The bare server has two processes: their mean is what all are compared with, and their difference is the noise. */
const GROUPS: readonly Group[] = [
  { title: "node:http on Node 20", runTime: "node20", kind: "node", names: [BARE, BARE, OURS, ...PEERS] },
  { title: "node:http on the newest Node", runTime: "node", kind: "node", names: [BARE, BARE, OURS, ...PEERS] },
  { title: "node:http on Deno", runTime: "deno", kind: "node", names: [BARE, BARE, OURS] },
  { title: "Deno.serve", runTime: "deno", kind: "fetch", names: [BARE, BARE, OURS, ASYNC] },
  { title: "Bun.serve", runTime: "bun", kind: "fetch", names: [BARE, BARE, OURS, ASYNC] },
];
/** Requests of each server in a pass before any count. */
const WARM_UP = 8_000;
const ROUNDS = 6;
/** Turns of each server in a round, and requests in a turn. */
const [TURNS, REQUESTS] = [8, 500];

/** The figures of one contender by situation; a figure for each round. */
type Figures = Map<string, Map<string, number[]>>;

function record(figures: Figures, situation: string, contender: string, figure: number): void {
  const of = figures.get(situation) ?? new Map<string, number[]>();
  figures.set(situation, of);
  of.set(contender, [...of.get(contender) ?? [], figure]);
}

/** CPU time of a request in one round, in ns, by contender. */
async function round(contenders: readonly Contender[], first: number): Promise<number[]> {
  const total = contenders.map(() => 0);
  for (let turn = 0; turn < TURNS; turn++) {
    for (let i = 0; i < contenders.length; i++) {
      const at = (first + turn + i) % contenders.length;
      total[at]! += await contenders[at]!.serve(REQUESTS);
    }
  }
  return total.map((ns) => ns / TURNS / REQUESTS);
}

async function pass({ runTime, kind, names }: Group, figures: Figures): Promise<void> {
  const contenders = await Promise.all(names.map((name) => Contender.start(runTime, kind, name)));
  try {
    for (const contender of contenders) await contender.serve(WARM_UP);
    for (let i = 0; i < ROUNDS; i++) {
      const cpu = await round(contenders, i);
      const bare = (cpu[0]! + cpu[1]!) / 2;
      for (const [at, ns] of cpu.entries()) {
        record(figures, cpuOf(kind), names[at]!, ns / 1000);
        record(figures, ratioOf(kind), names[at]!, ns / bare);
      }
    }
    // Deno and Bun report no heap that a garbage collection before it would make comparable.
    if (kind === "node" && runTime !== "deno") await idleHeap(contenders, names, figures);
  } finally {
    for (const contender of contenders) contender.kill();
  }
}

async function idleHeap(contenders: readonly Contender[], names: readonly string[], figures: Figures): Promise<void> {
  const bare = await contenders[0]!.idleHeap();
  for (const [at, contender] of contenders.entries()) {
    if (at > 0) record(figures, HEAP, names[at]!, await contender.idleHeap() - bare);
  }
}

function rowsOf(figures: Figures): Row[] {
  return Array.from(figures, ([situation, of]) =>
    Array.from(of, ([contender, all]): Row => {
      const median = quantile(all, 0.5);
      const spread = Math.abs((quantile(all, 0.75) - quantile(all, 0.25)) / median);
      const unit = situation === HEAP ? "bytes" : situation.endsWith("CPU time") ? "µs" : "×";
      const kind = contender === OURS ? "ours" : PEERS.includes(contender) ? "peer" : "floor";
      return { situation, unit, contender, kind, median, spread };
    })).flat();
}

/** "26.10.0". */
async function versionOf(runTime: ProgramName): Promise<string> {
  const { stdout } = spawnSync(await program(runTime), ["--version"], { encoding: "utf8" });
  return /[\d.]+/.exec(stdout)![0];
}

async function measured(group: Group, passes: number, until: number): Promise<Row[]> {
  const figures: Figures = new Map();
  for (let done = 0; done < passes && (done === 0 || performance.now() < until); done++) await pass(group, figures);
  const rows = rowsOf(figures);
  console.log(`\n## ${group.title}\n`);
  const cells = rows.map(({ situation, contender, median, spread, unit }) => [
    situation,
    contender,
    `${median.toFixed(unit === "bytes" ? 0 : 2)} ${unit}`,
    `±${Math.round(spread * 50)} %`,
  ]);
  console.log(table(["", "server", "median", "half of the distance between the quartiles"], cells));
  return rows;
}

async function all(passes: number, minutes: number, only: string): Promise<void> {
  const groups = GROUPS.filter(({ title }) => title.includes(only));
  const runs: Record<string, Run> = {};
  let servers = 0;
  const total = groups.reduce((sum, { names }) => sum + names.length, 0);
  const began = performance.now();
  for (const group of groups) {
    servers += group.names.length;
    const rows = await measured(group, passes, began + minutes * 60_000 * servers / total);
    const before = runs[group.runTime]?.rows ?? [];
    runs[group.runTime] = { version: await versionOf(group.runTime), rows: [...before, ...rows], alone: [] };
  }
  const peers = Object.fromEntries(PEERS.map((name) => [name, peerVersion(name)]));
  const date = new Date().toISOString().slice(0, 10);
  const results = { suite: "shutdown", date, machine: machine(), isBusy: false, rounds: passes * ROUNDS, peers, runs };
  console.log(`Written to ${save(results)}`);
}

const { values } = parseArgs({
  options: {
    passes: { type: "string", default: "5" },
    minutes: { type: "string", default: "8" },
    only: { type: "string", default: "" },
  },
});
// A pass that has begun is finished: the last tenth of the time is for that.
await all(Number(values.passes), 0.9 * Number(values.minutes), values.only);
process.exit(0);
