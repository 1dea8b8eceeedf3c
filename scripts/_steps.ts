/** The steps of CI and of the night. What differs between run-times runs on all four, and the rest on one. */
import { JOBS } from "./_groups.ts";
import { longFiles } from "./_test_files.ts";

export interface Step {
  readonly name: string;
  /** Seconds. A busy machine takes several times as long as a quiet one. */
  readonly limit: number;
  /** The names of the JUnit reports that it writes, which are those of run-times. */
  readonly reports: readonly string[];
  /** Its command, which writes its reports into the folder. */
  readonly command: (folder: string) => string[];
}

const deno = Deno.execPath();

function step(name: string, limit: number, reports: Step["reports"], command: Step["command"]): Step {
  return { name, limit, reports, command };
}

/** A task without a report: its exit code counts. */
const task = (name: string, limit: number, ...args: string[]): Step =>
  step([name, ...args].join(" "), limit, [], () => [deno, "task", name, ...args]);

/** A task that runs `deno test`. */
const testTask = (name: string, limit: number): Step =>
  step(name, limit, ["deno"], (folder) => [deno, "task", name, `--junit-path=${folder}/deno.xml`]);

/** Test files in Deno, as they are typed on the command line, in this number of processes. */
const inDeno = (name: string, limit: number, files: readonly string[], jobs = JOBS / 2): Step => {
  const command = ["env", `DENO_JOBS=${jobs}`, deno, "test", "-A", "--no-check", "--parallel"];
  return step(name, limit, ["deno"], (folder) => [...command, `--junit-path=${folder}/deno.xml`, ...files]);
};

const inOthers = (name: string, limit: number, runTimes: readonly string[], ...args: string[]): Step => {
  const command = [deno, "run", "-A", "scripts/test_in.ts", ...runTimes, ...args];
  return step(name, limit, runTimes, (folder) => [...command, `--junit=${folder}`]);
};

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
  inOthers("bun", 480, ["bun"], "--differing"),
  inOthers("node20", 600, ["node20"], "--differing"),
  inOthers("node", 600, ["node"], "--differing"),
  inDeno("long", 600, LONG, JOBS),
];

const HOUR = 3600;

/** Everything that there is: each file on each run-time, new seeds, and what takes long, measures or needs a browser. */
export const nightly: readonly Step[] = [
  task("setup", 900, "--long"),
  task("check", 600),
  testTask("test", HOUR),
  testTask("test:deep", HOUR),
  inOthers("others", HOUR, ["node20", "node", "bun"]),
  inDeno("long", 2 * HOUR, ["tests/long"]),
  inOthers("long in others", 2 * HOUR, ["node20", "node", "bun"], ...longFiles()),
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
  step("redis instructions", HOUR, [], () => [deno, "run", "-A", "bench/redis_instructions.ts"]),
];
