/**
 * `deno task bench:report`: the pages of figures and their charts, from the results of `deno task bench:all` and
 * `deno task bench:shutdown`.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import process from "node:process";
import { chart, type Theme, THEMES } from "./_chart.ts";
import { figuresPage } from "./_figures_page.ts";
import { goalsPage } from "./_goals_page.ts";
import type { Suite } from "./_markdown.ts";
import { missing, page } from "./_page.ts";
import { load } from "./_results.ts";
import { situations as redis } from "./redis/situations.ts";
import { situations as shutdown } from "./shutdown/situations.ts";
import { situations as local } from "./situations.ts";
import { size } from "../scripts/size.ts";

/** The imports whose size the page shows, by the names in its table. */
const SIZES: Readonly<Record<string, string>> = {
  "`Lock`": "{ Lock }",
  "`Semaphore`": "{ Semaphore }",
  "`KeyedMutex`": "{ KeyedMutex }",
  "`Pool`": "{ Pool }",
  "`GracefulShutdown`": "{ GracefulShutdown }",
  "everything local": "*",
};

const folder = new URL("../docs/benchmarks/", import.meta.url);

/** The sessions of a suite, or one line that says how to measure them. */
function suiteOf(name: string, title: string, situations: Suite["situations"]): Suite {
  const sessions = [false, true].flatMap((isBusy) => load(name, isBusy) ?? []);
  if (sessions.length > 0) return { title, situations, sessions };
  const task = name === "shutdown" ? "bench:shutdown" : `bench:all --suite ${name}`;
  throw new Error(`no bench/results/${name}.json: run deno task ${task} first`);
}

async function report(local: Suite, redis: Suite, shutdown: Suite): Promise<void> {
  mkdirSync(folder, { recursive: true });
  for (const theme of Object.keys(THEMES) as Theme[]) {
    writeFileSync(new URL(`contention-${theme}.svg`, folder), await chart("contention", local.sessions[0]!, theme));
    writeFileSync(new URL(`hand-over-${theme}.svg`, folder), await chart("hand-over", redis.sessions[0]!, theme));
    writeFileSync(new URL(`attach-${theme}.svg`, folder), await chart("attach", shutdown.sessions[0]!, theme));
  }
  const suites = [local, redis];
  if (missing(suites).length > 0) throw new Error(`there is no situation ${missing(suites).join("; ")}`);
  const sizes = Object.fromEntries(Object.entries(SIZES).map(([name, imports]) => [name, size(imports)]));
  writeFileSync(new URL("../benchmarks.md", folder), page(suites, sizes, shutdown));
  writeFileSync(new URL("figures.md", folder), figuresPage([...suites, shutdown]));
  writeFileSync(new URL("../../bench/GOALS.md", folder), goalsPage([...suites, shutdown]));
}

try {
  await report(
    suiteOf("local", "In one process", local),
    suiteOf("redis", "Through Redis", redis),
    suiteOf("shutdown", "Graceful shutdown while serving", shutdown),
  );
  console.log("Written: docs/benchmarks.md, docs/benchmarks/, bench/GOALS.md");
} catch (error) {
  console.error(`Cannot report: ${(error as Error).message}`);
  process.exitCode = 1;
}
