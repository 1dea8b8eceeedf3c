/**
 * `.ci/run`, with --nightly for the steps of the night: a list of steps, each in a process group of its own and with a limit in seconds. At
 * the end the failed tests, then the last line "N passed, N failed" of all reports. A step that leaves no report, tests
 * nothing, is skipped or exits with a code that no failed test explains has failed, and so has one whose output shows the
 * password of the tests' servers.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { PASSWORD } from "../tests/_secrets.ts";
import { QUARANTINE } from "./_quarantine.ts";
import { type Case, casesOf, failuresOf, isConsequence, show } from "./_reports.ts";
import { type Outcome, run } from "./_run.ts";
import { ci, nightly, type Step } from "./_steps.ts";

interface Result {
  readonly step: Step;
  readonly outcome: Outcome;
  readonly cases: readonly Case[];
  readonly failed: readonly string[];
}

const reports = mkdtempSync(join(tmpdir(), "interlock-reports-"));
const isNightly = process.argv.includes("--nightly");
const only = process.argv.indexOf("--only");
const steps = (isNightly ? nightly : ci).filter(({ name }) => only < 0 || name.includes(process.argv[only + 1]!));
/** In all. What is left of it limits each step, so that a busy machine still gets to the last line. */
const LIMIT = isNightly ? Infinity : 19.5 * 60;

/** Of the failures of a step. */
const MOST_SHOWN = 20;

const results: Result[] = [];
for (const step of steps) results.push(await result(step));
report();

async function result(step: Step): Promise<Result> {
  const limit = Math.max(1, Math.min(step.limit, Math.round(LIMIT - performance.now() / 1000)));
  const folder = join(reports, step.name.replaceAll(" ", "-"));
  mkdirSync(folder);
  const [command, ...args] = step.command(folder);
  console.log(`\n===== ${step.name}: ${[command, ...args].join(" ")} (at most ${limit} s)`);
  const outcome = await run(command!, args, { limit });
  const { status, seconds, timedOut, leftovers, output } = outcome;
  console.log(`===== ${step.name}: ${timedOut ? "not over" : `exit code ${status}`} after ${Math.round(seconds)} s`);
  for (const line of leftovers) console.log(`      left behind, ended now: ${line}`);
  const cases: Case[] = [];
  const failed: string[] = [];
  for (const name of step.reports) {
    const files = readdirSync(folder).filter((file) => new RegExp(`^${name}\\d?\\.xml$`).test(file));
    const found = files.flatMap((file) => casesOf(readFileSync(join(folder, file), "utf8")));
    if (found.length === 0 && !timedOut) failed.push(`no report of ${name}`);
    for (const one of found) cases.push(await isFlaky(one, name) ? { name: one.name, failure: undefined } : one);
  }
  const isExplained = cases.some(({ failure }) => failure !== undefined) || failed.length > 0;
  if (timedOut) failed.push(`not over after ${limit} s`);
  else if (status !== 0 && !isExplained) failed.push(`exit code ${status}, and no failed test says why`);
  if (output.includes(PASSWORD)) failed.push("the password of the tests' servers shows in the output");
  return { step, outcome, cases, failed };
}

/** Whether a failed test is in quarantine, and passes when its file runs once more. */
async function isFlaky({ name, failure }: Case, runTime: string): Promise<boolean> {
  const listed = failure !== undefined && QUARANTINE.find(({ test }) => test === name);
  if (!listed) return false;
  const { file, since, reason } = listed;
  console.log(`\n===== once more, in quarantine since ${since} (${reason}): "${name}" in ${runTime}`);
  const args = runTime.startsWith("deno")
    ? ["test", "-A", "--no-check", file]
    : ["run", "-A", "scripts/test_in.ts", runTime, file];
  return (await run(Deno.execPath(), args, { limit: 120 })).status === 0;
}

function report(): void {
  const sum = { passed: 0, failed: 0 };
  console.log(`\n===== ${Math.round(performance.now() / 1000)} s in all`);
  for (const { step, outcome, cases, failed } of results) {
    const failures = failuresOf(cases).length + failed.length;
    const passed = cases.length - failuresOf(cases).length;
    sum.passed += passed;
    sum.failed += failures;
    const times = `${Math.round(outcome.seconds)} of ${step.limit} s`;
    console.log(`${step.name.padEnd(24)} ${times.padEnd(16)} ${passed} passed, ${failures} failed`);
  }
  // Of a long output the end is what is kept.
  for (const { step, outcome, cases, failed } of results) {
    const failures = failuresOf(cases);
    for (const failure of failures.slice(0, MOST_SHOWN)) console.log(`\n${step.name}: ${show(failure)}`);
    // An error outside of all tests is in no report.
    const errors = outcome.output.slice(outcome.output.lastIndexOf("ERRORS")).slice(0, 4000);
    if (failures.length > 0 && failures.every(isConsequence)) console.log(`\n${step.name}: ${errors}`);
    for (const line of failed) {
      console.log(`\n${step.name}: FAILED ${line}\n${outcome.output.split("\n").slice(-40).join("\n")}`);
    }
  }
  rmSync(reports, { recursive: true });
  console.log(`\n${sum.passed} passed, ${sum.failed} failed`);
  process.exit(sum.failed === 0 && sum.passed > 0 ? 0 : 1);
}
