/** `deno task bench:report`: docs/benchmarks.md and its charts, from the results of `deno task bench:all`. */
import { mkdirSync, writeFileSync } from "node:fs";
import process from "node:process";
import { chart, type Theme, THEMES } from "./_chart.ts";
import { page, type Suite } from "./_page.ts";
import { load } from "./_results.ts";
import { situations as redis } from "./redis/situations.ts";
import { situations as local } from "./situations.ts";

const folder = new URL("../docs/benchmarks/", import.meta.url);

/** The sessions of a suite, or one line that says how to measure them. */
function suiteOf(name: string, title: string, situations: Suite["situations"]): Suite {
  const sessions = [false, true].flatMap((isBusy) => load(name, isBusy) ?? []);
  if (sessions.length > 0) return { title, situations, sessions };
  throw new Error(`no bench/results/${name}.json: run deno task bench:all --suite ${name} first`);
}

async function report(local: Suite, redis: Suite): Promise<void> {
  mkdirSync(folder, { recursive: true });
  for (const theme of Object.keys(THEMES) as Theme[]) {
    writeFileSync(new URL(`contention-${theme}.svg`, folder), await chart("contention", local.sessions[0]!, theme));
    writeFileSync(new URL(`hand-over-${theme}.svg`, folder), await chart("hand-over", redis.sessions[0]!, theme));
  }
  writeFileSync(new URL("../benchmarks.md", folder), page([local, redis]));
}

try {
  await report(suiteOf("local", "In one process", local), suiteOf("redis", "Through Redis", redis));
  console.log("Written: docs/benchmarks.md, docs/benchmarks/*.svg");
} catch (error) {
  console.error(`Cannot report: ${(error as Error).message}`);
  process.exitCode = 1;
}
