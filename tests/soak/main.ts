/** `deno task soak [--minutes N] [--seed N]`: everything together, for long; nothing may grow. */
import process from "node:process";
import { parseArgs } from "node:util";
import { Random } from "../_tools.ts";
import { soak } from "./_soak.ts";

const USAGE = "usage: deno task soak [--minutes N] [--seed N]";

function number(name: string, text: string): number {
  const value = Number(text);
  if (text !== "" && value > 0 && value < Infinity) return value;
  throw new RangeError(`--${name} must be a number above 0, got "${text}"`);
}

try {
  const options = { minutes: { type: "string", default: "10" }, seed: { type: "string" } } as const;
  const { values } = parseArgs({ args: process.argv.slice(2), options });
  const minutes = number("minutes", values.minutes);
  const seed = number("seed", values.seed ?? String(1 + Date.now() % 2 ** 31));
  console.log(`${minutes} minutes, seed ${seed}`);
  const { visits, cancelled, errors, series, left } = await soak(
    minutes * 60,
    new Random(seed),
    (text) => console.log(text),
  );
  console.log(`\n${visits} visits, ${cancelled} cancelled, ${errors.length} errors`);
  for (const error of new Set(errors)) console.log(`  ${error}`);
  for (const one of left) console.log(`  LEFT  ${one}`);
  for (const one of series) {
    const verdict = one.grows ? "GROWS" : "ok";
    console.log(
      `  ${verdict.padEnd(5)} ${one.name.padEnd(14)} mean ${one.mean.toFixed(1)}, per minute ${
        one.perMinute.toFixed(2)
      }`,
    );
  }
  if (errors.length > 0 || left.length > 0 || series.some(({ grows }) => grows)) process.exitCode = 1;
} catch (error) {
  console.error(`${(error as Error).message}\n${USAGE}`);
  process.exitCode = 2;
}
