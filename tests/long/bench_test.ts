/** The benchmarks do what they say: each contender does its work in each situation. */
import { readdirSync } from "node:fs";
import type { Situation } from "../../bench/_situation.ts";
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
