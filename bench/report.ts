/** `deno task bench:report`: docs/benchmarks.md and its charts, from the results of `deno task bench:all`. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import type { Results } from "./all.ts";
import { chart, type Theme, THEMES } from "./_chart.ts";
import { page } from "./_page.ts";
import { situations as redis } from "./redis/situations.ts";
import { situations as local } from "./situations.ts";

const root = new URL("../", import.meta.url);

/** The measurements, or one line that says how to make them. */
export function load(suite: string): Results {
  const file = new URL(`bench/results/${suite}.json`, root);
  if (existsSync(file)) return JSON.parse(readFileSync(file, "utf8"));
  throw new Error(`no bench/results/${suite}.json: run deno task bench:all --suite ${suite} first`);
}

/** Draws everything. */
export async function report(results: { local: Results; redis: Results }, folder: URL): Promise<void> {
  mkdirSync(folder, { recursive: true });
  for (const theme of Object.keys(THEMES) as Theme[]) {
    writeFileSync(new URL(`contention-${theme}.svg`, folder), await chart("contention", results.local, theme));
    writeFileSync(new URL(`hand-over-${theme}.svg`, folder), await chart("hand-over", results.redis, theme));
  }
  writeFileSync(new URL("../benchmarks.md", folder), page(results, { local, redis }));
}

if (import.meta.main) {
  try {
    await report({ local: load("local"), redis: load("redis") }, new URL("docs/benchmarks/", root));
    console.log("Written: docs/benchmarks.md, docs/benchmarks/*.svg");
  } catch (error) {
    console.error(`Cannot report: ${(error as Error).message}`);
    process.exitCode = 1;
  }
}
