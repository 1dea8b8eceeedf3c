/** The steps of CI and of the night. What differs between run-times runs on all four, and the rest on one. */
import { longFiles } from "./_test_files.ts";

export interface Step {
  readonly name: string;
  /** Seconds. A busy machine takes several times as long as a quiet one. */
  readonly limit: number;
  /** Whether it runs tests in this process or others. Otherwise its exit code counts. */
  readonly hasTests: boolean;
  readonly command: readonly string[];
}

const deno = Deno.execPath();

const task = (name: string, limit: number, ...args: string[]): Step => {
  return { name: [name, ...args].join(" "), limit, hasTests: false, command: [deno, "task", name, ...args] };
};

const testTask = (name: string, limit: number): Step => ({ ...task(name, limit), hasTests: true });

/** A step for each run-time, so that each has to run tests. */
const inEach = (what: string, limit: number, runTimes: readonly string[], ...args: string[]): Step[] =>
  runTimes.map((runTime) => {
    const command = [deno, "run", "-A", "scripts/run_tests.ts", runTime, ...args];
    return { name: what + runTime, limit, hasTests: true, command };
  });

/** Of the long tests, these meet a run-time's own sockets and processes. */
const LONG = ["redis_examples", "redis_reconnect", "redis_servers", "shutdown_process", "deno_serve", "queue"].map(
  (name) => `tests/long/${name}_test.ts`,
);

export const ci: readonly Step[] = [
  // The README's command. It installs, too, which takes minutes where the registry is slow.
  testTask("test", 900),
  task("check", 480),
  task("npm", 300, "--quick"),
  testTask("test:deep", 900),
  ...inEach("", 600, ["bun", "node20", "node"], "--differing"),
  ...inEach("long in ", 600, ["deno"], ...LONG),
];

const HOUR = 3600;

/** Everything that there is: each file on each run-time, new seeds, and what takes long, measures or needs a browser. */
export const nightly: readonly Step[] = [
  task("setup", 900, "--long"),
  task("check", 600),
  testTask("test", HOUR),
  testTask("test:deep", HOUR),
  ...inEach("", HOUR, ["node20", "node", "bun"]),
  testTask("test:long", 2 * HOUR),
  ...inEach("long in ", 2 * HOUR, ["node20", "node", "bun"], ...longFiles()),
  task("test:deep", 2 * HOUR, "--minutes", "30"),
  task("explore", HOUR),
  task("explore", HOUR, "redis"),
  task("chaos", HOUR, "--random", "10"),
  task("soak", HOUR, "--minutes", "10"),
  task("shutdown-load", HOUR, "--rounds", "2"),
  task("npm", 1200),
  task("test:npm", HOUR),
  task("test:browser", 1200),
  task("docs", 600),
  task("bench", HOUR),
  { ...task("redis instructions", HOUR), command: [deno, "run", "-A", "bench/redis_instructions.ts"] },
];
