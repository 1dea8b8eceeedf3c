/**
 * `deno task chaos`: every scenario, one after the other, against real servers and real processes; or random faults.
 *
 *     deno task chaos [--only TEXT] [--seed N]
 *     deno task chaos --random MINUTES [--seed N]
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { Random } from "../../_tools.ts";
import { runScenario, type Scenario } from "./_harness.ts";
import { KINDS, randomRound } from "./random.ts";
import { scenarios } from "./scenarios.ts";

const text = { type: "string" } as const;
const { only = "", seed: first = String(Date.now() % 2 ** 31), random: minutes } =
  parseArgs({ options: { only: text, seed: text, random: text } }).values;
const chosen = scenarios.filter(({ name }) => name.toLowerCase().includes(only.toLowerCase()));

/** Rounds of random faults, each with a seed of its own: `--random 1 --seed N` repeats the round that printed it. */
function* rounds(end: number): Iterable<Scenario> {
  for (let i = 0; performance.now() < end; i++) yield randomRound((Number(first) + i) % KINDS);
}

let [seed, wrong] = [Number(first), 0];
for (const scenario of minutes === undefined ? chosen : rounds(performance.now() + Number(minutes) * 60_000)) {
  console.log(`seed ${seed}: ${scenario.name} …`);
  const verdict = await runScenario(scenario, new Random(seed++));
  const recovery = verdict.recovery === undefined ? "" : `, recovery ${Math.round(verdict.recovery)} ms`;
  console.log(`    ${verdict.acquisitions} entries, longest wait ${Math.round(verdict.longestWait)} ms${recovery}`);
  for (const violation of verdict.violations) console.log(`    violation: ${violation}`);
  wrong += verdict.violations.length;
}
console.log(`${seed - Number(first)} scenarios, ${wrong} violations`);
process.exitCode = Number(wrong > 0 || seed === Number(first)); // a text that is in no name, or a seed that is none
