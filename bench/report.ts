/**
 * `deno task bench:report [--rounds N] [--only REGEXP]`: measures what docs/benchmarks.md shows on Deno, Node and Bun,
 * in about ten minutes, and writes bench/results.json, that page and its two charts. `--draw` writes the page from the
 * last results.
 */
import { readFileSync, writeFileSync } from "node:fs";
import os from "node:os";
import process from "node:process";
import { parseArgs } from "node:util";
import { Server } from "../tests/redis/_server.ts";
import { quantile, type Situation } from "./_situation.ts";
import { charts, type Measured, page, type Results } from "./_page.ts";
import { measured, RUN_TIMES, versionOf } from "./_processes.ts";

/** In the order of the page. */
const FILES = "lock keyed_mutex semaphore pool rate_limiter cancellation redis".split(" ");

const PACKAGES =
  "async-lock async-mutex async-sema await-lock bottleneck es-toolkit fastq ioredis5 p-limit p-map p-queue p-throttle rate-limiter-flexible redis-semaphore redlock";

/** Contenders take turns, a process each. What waits for a server has its time on the clock, all else its CPU time. */
async function measure(file: string, only: RegExp, processes: number): Promise<Measured[]> {
  const figures: Measured[] = [];
  const { situations } = await import(`./${file}_bench.ts`) as { situations: readonly Situation[] };
  for (const { name: situation, row, contenders } of situations) {
    if (row === undefined || !only.test(row)) continue;
    for (const runTime of RUN_TIMES) {
      const all = new Map((await contenders(true)).map((name) => [name, [] as number[]]));
      for (let i = 0; i < processes; i++) {
        for (const [contender, times] of all) {
          const { cpu, wall } = await measured(runTime, { file, situation, contender });
          times.push(file === "redis" ? wall : cpu);
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
    await using server = await Server.start();
    process.env["REDIS_URL"] = server.url; // before redis_bench.ts is loaded
    const [only, processes] = [new RegExp(values.only), Number(values.rounds)];
    const measured: Measured[] = [];
    for (const file of FILES) measured.push(...await measure(file, only, processes));
    const known = values.only === "" ? [] : load().figures;
    const place = ({ row }: Measured) => known.findIndex((one) => one.row === row);
    const kept = known.filter(({ row }) => measured.every((one) => one.row !== row));
    const figures = [...kept, ...measured].sort((a, b) => place(a) - place(b));
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
