/**
 * The second part of `deno task size`: what loading costs a process of Node, next to other packages. The package in npm/ is
 * among them if it is built.
 */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";

/** Programs that load one package; the first loads nothing. */
const LOADS: readonly string[] = [
  "",
  ...existsSync("npm/dist")
    ? ["main", "redis"].flatMap((entry) => [
      `require("./npm/dist/interlock-${entry}.cjs")`,
      `import("./npm/dist/interlock-${entry}.js")`,
    ])
    : [],
  ...["async-mutex", "bottleneck", "redlock"].map((peer) => `require("${peer}")`),
  'import("p-limit")',
];
const ROUNDS = 15;

/** The median CPU time of each in milliseconds, beyond that of the first; in turns, as a machine is never quiet. */
function loadTimes(): [what: string, ms: number][] {
  const times = LOADS.map((): number[] => []);
  const report =
    "process.on('exit', () => { const { user, system } = process.cpuUsage(); console.log(user + system); });";
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, program] of LOADS.entries()) {
      times[i]!.push(Number(execFileSync("node", ["-e", report + program], { encoding: "utf8" })) / 1000);
    }
  }
  const medians = times.map((list) => list.sort((a, b) => a - b)[ROUNDS >> 1]!);
  return LOADS.slice(1).map((program, i) => [program, medians[i + 1]! - medians[0]!]);
}

console.log("\nCPU time of loading in Node, beyond an empty process (of the package in npm/, if it is built):");
for (const [what, ms] of loadTimes()) console.log(`       ${what.padEnd(34)} ${ms.toFixed(1).padStart(5)} ms`);
