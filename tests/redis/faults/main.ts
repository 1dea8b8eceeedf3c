/**
 * `deno task chaos`: every fault, one after the other, against real servers and real processes.
 *
 *     deno task chaos [--only TEXT] [--seed N] [--minutes N] [--list]
 *     deno task chaos --random MINUTES [--seed N]
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { Random } from "../../_tools.ts";
import { runScenario, type Scenario, type Verdict } from "./_harness.ts";
import { KINDS, randomRound } from "./random.ts";
import { scenarios } from "./scenarios.ts";

const USAGE = "usage: deno task chaos [--only TEXT] [--seed N] [--minutes N] [--list] [--random MINUTES]";

interface Ask {
  readonly chosen: readonly Scenario[];
  readonly seed: number;
  readonly minutes: number;
  /** Minutes of random faults instead of the scenarios; 0 for none. */
  readonly random: number;
  readonly list: boolean;
}

function ask(args: string[]): Ask {
  const text = { type: "string" } as const;
  const options = { only: text, seed: text, minutes: text, random: text, list: { type: "boolean" } } as const;
  const { only = "", seed = String(Date.now() % 2 ** 31), minutes = "14", random, list = false } =
    parseArgs({ args, options }).values;
  const chosen = scenarios.filter(({ name }) => name.toLowerCase().includes(only.toLowerCase()));
  if (chosen.length === 0) throw new RangeError(`--only "${only}" is in no name; --list shows them`);
  return {
    chosen,
    seed: whole("seed", seed, 0),
    minutes: whole("minutes", minutes, 1),
    random: random === undefined ? 0 : whole("random", random, 1),
    list,
  };
}

function whole(name: string, text: string, least: number): number {
  if (/^\d+$/.test(text) && Number(text) >= least) return Number(text);
  throw new RangeError(`--${name} must be a whole number of ${least} or more, got "${text}"`);
}

/** Rounds of random faults, each with a seed of its own: `--random 1 --seed N` repeats the round that printed it. */
async function randomly({ seed, random: minutes }: Ask): Promise<boolean> {
  const end = performance.now() + minutes * 60_000;
  const verdicts: Verdict[] = [];
  for (let index = 0; performance.now() < end; index++) {
    const scenario = randomRound((seed + index) % KINDS);
    console.log(`seed ${seed + index}: ${scenario.name} …`);
    verdicts.push(await judged(scenario, seed + index));
  }
  return summary(verdicts);
}

async function judged(scenario: Scenario, seed: number): Promise<Verdict> {
  const verdict = await runScenario(scenario, new Random(seed));
  for (const violation of verdict.violations) console.log(`    violation: ${violation}`);
  return verdict;
}

async function chaos({ chosen, seed, minutes }: Ask): Promise<boolean> {
  const end = performance.now() + minutes * 60_000;
  const verdicts: Verdict[] = [];
  for (const [index, scenario] of chosen.entries()) {
    if (performance.now() > end) {
      console.log(`${chosen.length - index} not run: ${minutes} minutes are over`);
      break;
    }
    console.log(`${index + 1}/${chosen.length} ${scenario.name} …`);
    verdicts.push(await judged(scenario, seed + index));
  }
  console.log(`\nseed ${seed}`);
  return summary(verdicts);
}

function summary(verdicts: readonly Verdict[]): boolean {
  console.log(table(verdicts));
  const wrong = verdicts.reduce((sum, { violations }) => sum + violations.length, 0);
  console.log(`${verdicts.length} scenarios, ${wrong} violations`);
  return wrong === 0;
}

function table(verdicts: readonly Verdict[]): string {
  const ms = (value: number | undefined) => value === undefined ? "-" : `${Math.round(value)} ms`;
  const rows = verdicts.map((one) => [
    one.violations.length === 0 ? "ok" : "FAILED",
    String(one.acquisitions),
    ms(one.longestWait),
    ms(one.recovery),
    String(one.overlaps.length),
    String(one.stale),
    `${one.seconds.toFixed(0)} s`,
    one.name,
  ]);
  const all = [["verdict", "entries", "longest wait", "recovery", "overlaps", "refused", "took", "scenario"], ...rows];
  return all.map((row) => row.map((cell, i) => i === 7 ? cell : cell.padStart(all[0]![i]!.length)).join("  ")).join(
    "\n",
  );
}

try {
  const wanted = ask(process.argv.slice(2));
  if (wanted.list) {
    for (const { name, fast } of scenarios) console.log(`${fast ? "in the tests  " : "              "}${name}`);
  } else if (!await (wanted.random > 0 ? randomly(wanted) : chaos(wanted))) process.exitCode = 1;
} catch (error) {
  console.error(`${(error as Error).message}\n${USAGE}`);
  process.exitCode = 2;
}
