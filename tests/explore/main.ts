/**
 * `deno task explore`: runs every schedule of small programs, and finds what is broken on purpose.
 *
 *     deno task explore [--only TEXT] [--bound SCHEDULES] [--replay A,~,B,…]
 *
 * `deno task explore redis [DEPTH] [FAULTS]` runs the scripts of Redis instead, for every sequence of steps and faults.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { broken } from "./broken/mod.ts";
import { programs } from "./programs.ts";
import { search, tell } from "./_search.ts";
import type { Program } from "./_world.ts";

const USAGE =
  "usage: deno task explore [--only TEXT] [--bound SCHEDULES] [--replay A,~,B,…]\n       deno task explore redis [DEPTH] [FAULTS]";
const BOUND = 500_000;

/** The request of the command line. Throws if it is wrong. */
function ask(args: string[]): { chosen: Program[]; bound: number | undefined; replay: string | undefined } {
  const options = { only: { type: "string" }, bound: { type: "string" }, replay: { type: "string" } } as const;
  const { only = "", bound, replay } = parseArgs({ args, options }).values;
  if (bound !== undefined && !/^[1-9]\d*$/.test(bound)) {
    throw new RangeError(`--bound must be a whole number of 1 or more, got "${bound}"`);
  }
  const all = [...programs, ...broken.map(({ program }) => program)];
  const chosen = all.filter(({ name }) => name.toLowerCase().includes(only.toLowerCase()));
  if (chosen.length === 0) {
    throw new RangeError(`--only "${only}" is in no name of:\n  ${all.map(({ name }) => name).join("\n  ")}`);
  }
  if (replay !== undefined && chosen.length !== 1) {
    throw new RangeError(`--replay needs an --only that names one program, not ${chosen.length}`);
  }
  return { chosen, bound: bound === undefined ? undefined : Number(bound), replay };
}

async function explore(chosen: readonly Program[], bound: number | undefined): Promise<boolean> {
  let wrong = 0;
  console.log("schedules   pruned      ms  program");
  for (const program of chosen) {
    const planted = broken.some((one) => one.program === program);
    const start = performance.now();
    const { schedules, pruned, cut, violation } = await search(program, bound ?? BOUND);
    const columns = [schedules, pruned, Math.round(performance.now() - start)].map((n) => String(n).padStart(8));
    console.log(` ${columns.join(" ")}  ${program.name}${cut ? " (cut at the bound)" : ""}`);
    if (violation) console.log(`\n${await tell(program, violation.schedule)}\n`);
    if (planted === (violation === undefined)) wrong++;
  }
  console.log(wrong === 0 ? "0 violations; everything broken on purpose was found" : `${wrong} not as it should be`);
  return wrong === 0;
}

if (process.argv[2] === "redis") {
  await import("../redis/model/main.ts");
  process.exit();
}
try {
  const { chosen, bound, replay } = ask(process.argv.slice(2));
  if (replay !== undefined) console.log(await tell(chosen[0]!, replay.split(",")));
  else if (!await explore(chosen, bound)) process.exitCode = 1;
} catch (error) {
  console.error(`${(error as Error).message}\n${USAGE}`);
  process.exitCode = 2;
}
