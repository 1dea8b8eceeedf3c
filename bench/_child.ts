/** Runs in each run-time: measures what its argument asks for, and prints each row as a line of JSON. */
import process from "node:process";
import { measure } from "./_runner.ts";

/** The argument, as JSON. */
export interface Order {
  readonly suite: "local" | "redis";
  /** A regular expression for the situations' names. */
  readonly only: string;
  readonly rounds: number;
  /** One contender of one situation, in a process of its own. */
  readonly alone?: { readonly situation: string; readonly contender: string };
  /** The address of another revision's mod.ts. */
  readonly module?: string;
  /** Rounds of a process for one contender that do not count. Default: 2. */
  readonly warmUp?: number;
}

const { suite, only, rounds, alone, module, warmUp = 2 } = JSON.parse(process.argv[2]!) as Order;
const { situations } = await (suite === "redis" ? import("./redis/situations.ts") : import("./situations.ts"));
for (const situation of situations) {
  if (alone === undefined ? !new RegExp(only).test(situation.name) : situation.name !== alone.situation) continue;
  const rows = await measure(situation, {
    rounds,
    ...(module === undefined ? {} : { lib: await import(module) }),
    ...(alone === undefined ? {} : { only: alone.contender, warmUp }),
  });
  for (const row of rows) console.log(JSON.stringify(row));
}
process.exit(0); // clients of others may keep it alive
