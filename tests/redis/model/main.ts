/** `deno task explore redis [DEPTH] [FAULTS]`: explores the scripts deeper than the tests do. */
import process from "node:process";
import { explore } from "./_model.ts";
import { models } from "./_models.ts";

const [depth = 5, faults = 2] = process.argv.slice(3).map(Number);
for (const [name, model] of Object.entries(models(depth, faults))) {
  const startedAt = performance.now();
  const states = explore(model);
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  console.log(
    `${name}: ${states} states up to ${model.depth} steps with ${faults} faults in ${seconds} s, no violation`,
  );
}
