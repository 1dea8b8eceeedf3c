/**
 * `deno task soak [--minutes N] [--seed N] [--on RUNTIMES]`: everything together, for long; nothing may grow. On each
 * run-time, the first half of the time is without observers, the second with all of them.
 */
import { spawnSync } from "node:child_process";
import process from "node:process";
import { parseArgs } from "node:util";
import type { ProgramName } from "../shutdown/runtimes.ts";
import { Random } from "../_tools.ts";
import { observers } from "./_observers.ts";
import { soakIn } from "./_processes.ts";
import { type Outcome, soak } from "./_soak.ts";

const USAGE = "usage: deno task soak [--minutes N] [--seed N] [--on deno,node20,node,bun]";
/** How many MB more observers may take. */
const OBSERVED = 12;

function number(name: string, text: string): number {
  const value = Number(text);
  if (text !== "" && value > 0 && value < Infinity) return value;
  throw new RangeError(`--${name} must be a number above 0, got "${text}"`);
}

/** Runs this file in a run-time. Returns whether all is well there. */
async function soakOn(name: string, minutes: number, seed: number): Promise<boolean> {
  console.log(`\n== ${name}: ${minutes} minutes, seed ${seed}`);
  const [command, args] = await soakIn(name as ProgramName, { minutes, seed });
  return spawnSync(command, args, { stdio: "inherit" }).status === 0;
}

async function soakHere(minutes: number, seed: number): Promise<boolean> {
  const half = (observe: () => () => void | Promise<void>) =>
    soak(minutes * 30, new Random(seed), observe, (text) => console.log(text));
  const plain = await half(() => () => {});
  const observed = await half(observers);
  const more = observed.heap - plain.heap;
  console.log(`\nheap: ${plain.heap.toFixed(1)} MB, observed ${observed.heap.toFixed(1)} MB`);
  const isLong = minutes >= 1; // the slopes of seconds say nothing: a machine that pauses makes one
  return [report("alone", isLong, plain), report("observed", isLong, observed), more <= OBSERVED].every(Boolean);
}

function report(what: string, isLong: boolean, { visits, cancelled, errors, series, left }: Outcome): boolean {
  console.log(`${what}: ${visits} visits, ${cancelled} cancelled, ${errors.length} errors`);
  for (const error of new Set(errors)) console.log(`  ${error}`);
  for (const one of left) console.log(`  LEFT  ${one}`);
  for (const one of series) {
    const verdict = one.grows ? "GROWS" : "ok";
    const perMinute = one.perMinute.toFixed(2);
    console.log(`  ${verdict.padEnd(5)} ${one.name.padEnd(14)} mean ${one.mean.toFixed(1)}, per minute ${perMinute}`);
  }
  return errors.length === 0 && left.length === 0 && !(isLong && series.some(({ grows }) => grows));
}

try {
  const { values } = parseArgs({
    args: process.argv.slice(2),
    options: {
      minutes: { type: "string", default: "10" },
      seed: { type: "string" },
      on: { type: "string", default: "deno,node20,node,bun" },
      here: { type: "boolean" },
    },
  });
  const minutes = number("minutes", values.minutes);
  const seed = number("seed", values.seed ?? String(1 + Date.now() % 2 ** 31));
  const outcomes: boolean[] = [];
  if (values.here) outcomes.push(await soakHere(minutes, seed));
  else for (const name of values.on.split(",")) outcomes.push(await soakOn(name, minutes, seed));
  if (outcomes.includes(false)) process.exitCode = 1;
} catch (error) {
  console.error(`${(error as Error).message}\n${USAGE}`);
  process.exitCode = 2;
}
