/** Measures one contender of one situation, and prints its figure as a line of JSON. */
import process from "node:process";
import { type Iteration, quantile } from "./_situation.ts";

/** The argument, as JSON. */
export interface Order {
  /** A file of situations, such as "lock". */
  readonly file: string;
  readonly situation: string;
  readonly contender: string;
  /** The folder of another revision. Default: this tree. */
  readonly tree?: string;
}

/** Nanoseconds of an operation: the median of the rounds. */
export interface Figure {
  /** CPU time of the process in all threads, which other processes on the machine do not change. */
  readonly cpu: number;
  readonly wall: number;
}

/** Milliseconds until the run-time has compiled its best, and those of a round. */
const [WARM_UP, ROUND] = [250, 25];
const ROUNDS = 9;

/** Only where the run-time was started with its garbage collector exposed. */
const { gc } = globalThis as { gc?: (options: object) => void };

async function round(iteration: Iteration, operations: number, ms: number): Promise<Figure> {
  gc?.({ type: "minor" }); // the garbage of one round is no part of the next one
  const [start, cpuBefore] = [performance.now(), process.cpuUsage()];
  let done = 0;
  do {
    await iteration();
    done += operations;
  } while (performance.now() - start < ms);
  const wall = performance.now() - start;
  const { user, system } = process.cpuUsage(cpuBefore);
  return { wall: wall * 1e6 / done, cpu: (user + system) * 1e3 / done };
}

const { file, situation, contender, tree } = JSON.parse(process.argv[2]!) as Order;
const { situations } = await import(`./${file}_bench.ts`) as typeof import("./lock_bench.ts");
const found = situations.find(({ name }) => name === situation);
if (found === undefined) throw new Error(`bench/${file}_bench.ts has no situation "${situation}"`);
const lib = tree === undefined
  ? undefined
  : { ...await import(`${tree}/mod.ts`), ...await import(`${tree}/lib/redis/mod.ts`) };
const iteration = await found.iteration(contender, lib);
await round(iteration, found.operations, WARM_UP);
const rounds: Figure[] = [];
for (let i = 0; i < ROUNDS; i++) rounds.push(await round(iteration, found.operations, ROUND));
const median = (kind: keyof Figure) => quantile(rounds.map((one) => one[kind]), 0.5);
console.log(JSON.stringify({ cpu: median("cpu"), wall: median("wall") }));
process.exit(0); // clients of other packages may keep it alive
