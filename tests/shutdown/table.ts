/**
 * `deno task shutdown-load`: servers ended under load, on their own, behind proxies, and taking over from each other. Prints
 * a table for each part, as Markdown, and fails if a promise was broken.
 *
 *     table.ts [--only PART] [--row TEXT] [--rounds N] [--seed N] [--connections N]
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { handovers } from "./proxy/table_handovers.ts";
import { proxies } from "./proxy/table_proxies.ts";
import type { Part, TableOptions } from "./table_row.ts";
import { restarts } from "./table_restarts.ts";

const PARTS: Record<string, Part> = { restarts, proxies, handovers };
const USAGE = `Usage: deno task shutdown-load [--only PART] [--row TEXT] [--rounds N] [--seed N] [--connections N]
  --only         ${Object.keys(PARTS).join(", ")}. Default: all
  --row          rows whose names contain this text; several with |. Default: all
  --rounds       how often each server is ended. Default: 10
  --seed         of the random requests. Default: random
  --connections  clients at a time. Default: 100`;

function usage(problem: string): never {
  console.error(`${problem}\n${USAGE}`);
  process.exit(2);
}

function options(): TableOptions & { only: string[] } {
  const string = { type: "string" } as const;
  try {
    const { values } = parseArgs({
      options: { only: string, row: string, rounds: string, seed: string, connections: string },
    });
    const only = values.only?.split(",") ?? Object.keys(PARTS);
    const unknown = only.find((part) => !(part in PARTS));
    if (unknown !== undefined) usage(`Unknown part ${JSON.stringify(unknown)}`);
    const rows = values.row?.split("|") ?? [""];
    const wanted = (row: string) => rows.some((text) => row.includes(text));
    const number = (name: "rounds" | "seed" | "connections", otherwise: number) => {
      const value = Number(values[name] ?? otherwise);
      if (!Number.isInteger(value) || value < 1) usage(`--${name} must be a whole number of 1 or more`);
      return value;
    };
    const [rounds, connections] = [number("rounds", 10), number("connections", 100)];
    return { only, wanted, rounds, connections, seed: number("seed", 1 + Math.floor(Math.random() * 1e9)) };
  } catch (error) {
    return usage((error as Error).message);
  }
}

const { only, ...settings } = options();
const { rounds, seed, connections } = settings;
console.log(`${rounds} rounds, seed ${seed}, ${connections} connections`);
const count = { kept: 0, broken: 0 };
for (const name of only) {
  console.log(`\n## ${name}\n`);
  try {
    const table = await PARTS[name]!(settings);
    for (const outcome of ["kept", "broken"] as const) count[outcome] += table.count[outcome];
  } catch (error) {
    console.error((error as Error).message); // such as the one line that says what to install
    process.exit(2);
  }
}
console.log(`\nRows that kept their promise: ${count.kept}; that broke it: ${count.broken}.`);
process.exit(count.broken === 0 ? 0 : 1);
