/**
 * `deno task bench:shutdown [--minutes N] [--only TEXT]`: the cost of a graceful shutdown while it does not happen: CPU
 * time per request of a hello-world server, next to a bare one, and heap per idle connection.
 *
 * Every server is a process of its own, started anew for each pass: two processes of the same program differ by some
 * percent. All servers of a run-time serve in turns, a few hundred requests each, so other work on the machine hits them
 * alike. At the end of `--minutes` (default: 8) each run-time has had its share, and the passes so far count.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import type { ProgramName } from "../../tests/shutdown/runtimes.ts";
import { quantile } from "../_situation.ts";
import { Contender } from "./contender.ts";

const BARE = "a bare server";
const PEERS = ["http-graceful-shutdown", "@godaddy/terminus", "http-terminator", "stoppable", "lightship"];
/** The bare server has two processes: their mean is what all are compared with, and their difference is the noise. */
const NODE = [BARE, BARE, "interlock", ...PEERS];
const FETCH = [BARE, BARE, "interlock", "an async function around it"];

interface Group {
  readonly title: string;
  readonly runTime: ProgramName;
  readonly kind: "node" | "fetch";
  readonly names: readonly string[];
}

const GROUPS: readonly Group[] = [
  { title: "node:http on Node 20", runTime: "node20", kind: "node", names: NODE },
  { title: "node:http on the newest Node", runTime: "node", kind: "node", names: NODE },
  { title: "node:http on Deno", runTime: "deno", kind: "node", names: NODE.slice(0, 3) },
  { title: "Deno.serve", runTime: "deno", kind: "fetch", names: FETCH },
  { title: "Bun.serve", runTime: "bun", kind: "fetch", names: FETCH },
];
/** Requests of each server in a pass before any count. */
const WARM_UP = 8_000;
const ROUNDS = 6;
/** Turns of each server in a round, and requests in a turn. */
const [TURNS, REQUESTS] = [8, 500];

/** A figure for each round. */
interface Figures {
  readonly name: string;
  /** CPU time of a request, in µs. */
  readonly cpu: number[];
  /** The same, times that of a bare server. */
  readonly ratio: number[];
  /** Bytes of an idle connection beyond those of a bare server. */
  readonly heap: number[];
}

/** CPU time of a request in one round, in µs, by contender. */
async function round(contenders: readonly Contender[], first: number): Promise<number[]> {
  const total = contenders.map(() => 0);
  for (let turn = 0; turn < TURNS; turn++) {
    for (let i = 0; i < contenders.length; i++) {
      const at = (first + turn + i) % contenders.length;
      total[at]! += await contenders[at]!.serve(REQUESTS);
    }
  }
  return total.map((ns) => ns / TURNS / REQUESTS / 1000);
}

async function pass({ runTime, kind, names }: Group, figures: readonly Figures[]): Promise<void> {
  const contenders = await Promise.all(names.map((name) => Contender.start(runTime, kind, name)));
  try {
    for (const contender of contenders) await contender.serve(WARM_UP);
    for (let i = 0; i < ROUNDS; i++) {
      const cpu = await round(contenders, i);
      const bare = (cpu[0]! + cpu[1]!) / 2;
      for (const [at, one] of figures.entries()) {
        one.cpu.push(cpu[at]!);
        one.ratio.push(cpu[at]! / bare);
      }
    }
    // Deno and Bun report no heap that a garbage collection before it would make comparable.
    if (kind !== "node" || runTime === "deno") return;
    const bare = await contenders[0]!.idleHeap();
    for (const [at, { heap }] of figures.entries()) heap.push(at === 0 ? 0 : await contenders[at]!.idleHeap() - bare);
  } finally {
    for (const contender of contenders) contender.kill();
  }
}

function row({ name, cpu, ratio, heap }: Figures): string {
  const spread = (quantile(ratio, 0.75) - quantile(ratio, 0.25)) / 2;
  const bytes = heap.length === 0 ? "" : Math.round(quantile(heap, 0.5)).toLocaleString("en");
  const cells = [
    name,
    `${quantile(ratio, 0.5).toFixed(2)} ±${spread.toFixed(2)}`,
    quantile(cpu, 0.5).toFixed(1),
    bytes,
  ];
  return `| ${cells.join(" | ")} |`;
}

const text = { type: "string" } as const;
const { values: { minutes = "8", only = "" } } = parseArgs({ options: { minutes: text, only: text } });
const groups = GROUPS.filter(({ title }) => title.includes(only));
const total = groups.reduce((sum, { names }) => sum + names.length, 0);
let until = performance.now();
for (const group of groups) {
  until += 0.9 * Number(minutes) * 60_000 * group.names.length / total; // a pass that has begun is finished
  const figures = group.names.map((name): Figures => ({ name, cpu: [], ratio: [], heap: [] }));
  do await pass(group, figures); while (performance.now() < until);
  console.log(`\n${group.title}, ${figures[0]!.cpu.length} rounds\n`);
  console.log("| server | × a bare server | µs of CPU time a request | bytes of an idle connection |");
  console.log(["| --- | --: | --: | --: |", ...figures.map(row)].join("\n"));
}
process.exit(0);
