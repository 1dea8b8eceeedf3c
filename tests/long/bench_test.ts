/** The benchmarks do what they say: each contender does its work in each situation, and the page shows the figures. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { charts, type Measured, page, type Results } from "../../bench/_page.ts";
import { HAND_OVER, SHARED, type Situation } from "../../bench/_situation.ts";
import { size } from "../../scripts/size.ts";
import { test } from "../_test.ts";

size("{}"); // starts esbuild, which takes a port that it keeps

const subjects = readdirSync("bench").flatMap((file) => /^(\w+)_bench\.ts$/.exec(file)?.[1] ?? []);
const situationsOf = async (file: string) =>
  (await import(`../../bench/${file}_bench.ts`) as { situations: readonly Situation[] }).situations;

for (const subject of subjects) {
  for (const situation of await situationsOf(subject)) {
    test(`bench: ${situation.name}`, async () => {
      for (const contender of await situation.contenders(true)) {
        const iteration = await situation.iteration(contender);
        for (let i = 0; i < 2; i++) await iteration(); // it leaves everything as it was
      }
    });
  }
}

test("bench: the page names ours, the best and the worst package, and those that are quicker; charts have all", async () => {
  const figure = (row: string, contender: string, ns: number): Measured[] =>
    (["deno", "node", "bun"] as const).map((runTime) => ({ row, contender, runTime, ns }));
  const names = { "interlock": 100, "slow": 250, "middling": 95, "quicker": 89, "quick": 80, "bare promises": 50 };
  const figures = [SHARED, HAND_OVER].flatMap((row) =>
    Object.entries(names).flatMap(([name, ns]) => figure(row, name, ns))
  );
  const about = {
    date: "2026-01-01",
    machine: "one",
    processes: 3,
    runTimes: { deno: "1" },
    packages: { slow: "1.2.3" },
  };
  const results: Results = { ...about, figures };
  const text = page(readFileSync("docs/benchmarks.md", "utf8"), results);
  assert.match(
    text,
    / a lock\*\* \| \*\*100\*\* .*\n\| quick \| 80 .*\n\| quicker \| 89 .*\n\| slow \| 250 /,
  );
  assert.match(text, /same Redis lock\*\* \| \*\*0\.1\*\* /);
  assert.match(text, /slow 1\.2\.3/);
  for (const [, svg] of await charts(results)) {
    for (const name of ["interlock", "slow", "quick"]) assert.ok(svg.includes(`>${name}<`), name);
    assert.ok(!svg.includes(">bare promises<"));
  }
});
