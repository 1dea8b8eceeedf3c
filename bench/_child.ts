/** Runs in each run-time: measures the situations named in its arguments, and prints each row as a line of JSON. */
import process from "node:process";
import { measure } from "./_runner.ts";

const { suite, only, rounds } = JSON.parse(process.argv[2]!) as {
  suite: "local" | "redis";
  only: string;
  rounds: number;
};
const { situations } = await (suite === "redis" ? import("./redis/situations.ts") : import("./situations.ts"));
for (const situation of situations) {
  if (!situation.name.includes(only)) continue;
  for (const row of await measure(situation, { rounds })) console.log(JSON.stringify(row));
}
process.exit(0); // clients of others may keep it alive
