/**
 * `deno task bench:report [--rounds N] [--only REGEXP]`: measures what docs/benchmarks.md shows on Deno, Node and Bun, in about eight
 * minutes, and writes bench/results.json, that page and its two charts. `--draw` writes the page from the last results.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import os from "node:os";
import process from "node:process";
import { parseArgs } from "node:util";
import { Server } from "../tests/redis/_server.ts";
import { quantile, type Situation } from "./_situation.ts";
import { charts, page } from "./_page.ts";
import { measured, RUN_TIMES, type RunTime, versionOf } from "./_processes.ts";

/** A contender of a row on a run-time. */
export interface Measured {
  readonly row: string;
  readonly contender: string;
  readonly runTime: RunTime;
  /** Of one operation. */
  readonly ns: number;
}

export interface Results {
  readonly date: string;
  readonly machine: string;
  readonly processes: number;
  readonly runTimes: Readonly<Record<string, string>>;
  /** Versions of the other packages. */
  readonly packages: Readonly<Record<string, string>>;
  readonly figures: readonly Measured[];
}

/** A row of the page: a situation, in the words of a reader. */
interface Row {
  readonly file: string;
  readonly situation: string;
  readonly words: string;
}

/** The two of the charts are named. */
export const SHARED = "one turn of 100 tasks that share a lock";
export const HAND_OVER = "one lease of 10 tasks that come at once to a Redis lock";

export const ROWS: readonly Row[] = ([
  ["lock", "free lock, await acquire and release", "acquire and release a free lock"],
  ["lock", "lock, 100 tasks", SHARED],
  ["lock", "lock, 10,000 tasks", "one turn of 10,000 tasks that share a lock"],
  ["lock", "lock.run, 100 tasks", "one call of `run` by 100 tasks, with an async function"],
  ["keyed_mutex", "keyed.run, 100 hot keys, 1,000 tasks", "one call of `run` by 1,000 tasks for 100 keys"],
  ["semaphore", "semaphore of 10 permits, 1,000 tasks", "one turn of 1,000 tasks that share 10 permits"],
  ["event", "event, 100,000 waiters", "one of 100,000 waiters of an event"],
  ["pool", "pool of 10, 1,000 calls at once", "a call through a pool of 10"],
  ["pool", "pool of 10, 1,000 calls of a wrapped function", "a call of a function that `pool.wrap` has made"],
  ["pool", "map a list of 10,000, 10 at a time", "an item of a map, 10 at a time"],
  ["rate_limiter", "rate limiter, starts that are free", "a start that a rate limit allows at once"],
  ["cancellation", "cancelling, 1,000 waiters with a signal each", "a wait that a signal of its own cancels"],
  ["redis", "Redis, a free lock", "acquire and release a Redis lock that is free"],
  ["redis", "Redis, 50 free locks at once", "acquire and release 50 Redis locks at a time, each"],
  ["redis", "Redis, 10 tasks that come once to one lock", HAND_OVER],
  ["redis", "Redis, starts within a rate limit, 25 at a time", "a start within a Redis rate limit, 25 at a time"],
] as const).map(([file, situation, words]) => ({ file, situation, words }));

const PACKAGES =
  "async-lock async-mutex async-sema await-lock bottleneck es-toolkit @esfx/async-manualresetevent fastq ioredis5 limiter p-limit p-map p-queue p-throttle rate-limiter-flexible redis-semaphore redlock";

/** Contenders take turns, a process each. What waits for a server has its time on the clock, all else its CPU time. */
async function measure(rows: readonly Row[], processes: number): Promise<Measured[]> {
  const figures: Measured[] = [];
  for (const { file, situation, words: row } of rows) {
    const { situations } = await import(`./${file}_bench.ts`) as { situations: readonly Situation[] };
    const contenders = await situations.find(({ name }) => name === situation)!.contenders(true);
    for (const runTime of RUN_TIMES) {
      const all = new Map(contenders.map((name) => [name, [] as number[]]));
      for (let i = 0; i < processes; i++) {
        for (const contender of contenders) {
          const { cpu, wall } = await measured(runTime, { file, situation, contender });
          all.get(contender)!.push(file === "redis" ? wall : cpu);
        }
      }
      for (const [contender, ns] of all) figures.push({ row, contender, runTime, ns: Math.round(quantile(ns, 0.5)) });
      const shown = figures.slice(-all.size).map(({ contender, ns }) => `${contender} ${ns}`);
      console.log(`${runTime}: ${row}: ${shown.join(", ")} ns`);
    }
  }
  return figures;
}

async function versions(): Promise<Pick<Results, "runTimes" | "packages">> {
  const runTimes = await Promise.all(RUN_TIMES.map(async (name) => [name, await versionOf(name)] as const));
  const packages = PACKAGES.split(" ").map((name) => {
    const { version } = JSON.parse(
      readFileSync(new URL(`../node_modules/${name}/package.json`, import.meta.url), "utf8"),
    );
    return [name, version as string] as const;
  });
  return { runTimes: Object.fromEntries(runTimes), packages: Object.fromEntries(packages) };
}

const FILE = new URL("results.json", import.meta.url);
const DOCS = new URL("../docs/", import.meta.url);

const load = () => JSON.parse(readFileSync(FILE, "utf8")) as Results;

if (import.meta.main) {
  const text = (value: string) => ({ type: "string", default: value }) as const;
  const { values } = parseArgs({ options: { rounds: text("3"), only: text(""), draw: { type: "boolean" } } });
  if (!values.draw) {
    const rows = ROWS.filter(({ words }) => new RegExp(values.only).test(words));
    const processes = Number(values.rounds);
    const measured = await measure(rows.filter(({ file }) => file !== "redis"), processes);
    await using server = await Server.start();
    process.env["REDIS_URL"] = server.url; // before redis_bench.ts is loaded
    measured.push(...await measure(rows.filter(({ file }) => file === "redis"), processes));
    const isKept = ({ row }: Measured) => !rows.some(({ words }) => words === row);
    const figures = [...existsSync(FILE) ? load().figures.filter(isKept) : [], ...measured];
    const date = new Date().toISOString().slice(0, 10);
    const machine = `${os.cpus().length} × ${os.cpus()[0]?.model.trim()}, ${os.type()}`;
    const results: Results = { date, machine, processes, ...await versions(), figures };
    writeFileSync(FILE, JSON.stringify(results, undefined, 1) + "\n");
  }
  const results = load();
  for (const [name, svg] of await charts(results)) writeFileSync(new URL(`benchmarks/${name}`, DOCS), svg);
  const file = new URL("benchmarks.md", DOCS);
  writeFileSync(file, page(readFileSync(file, "utf8"), results));
  console.log("Written: bench/results.json, docs/benchmarks.md, docs/benchmarks/");
  process.exit();
}
