/**
 * Runs a list of steps, each in a process group of its own and with a limit in seconds. At the end the failed tests, then
 * the last line "N passed, N failed" by the journals of the tests. A step that should run tests and runs none, or exits
 * with a code that no failed test explains, has failed, and so has one whose output shows the password of the tests'
 * servers.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PASSWORD } from "../tests/_secrets.ts";
import { type Case, failuresOf, journalOf, show, uncaughtIn, withFailuresOfBun } from "./_reports.ts";
import { type Outcome, run } from "./_run.ts";
import type { Step } from "./_steps.ts";

interface Result {
  readonly step: Step;
  readonly outcome: Outcome;
  readonly cases: readonly Case[];
  readonly failed: readonly string[];
}

/** Of the failures of a step. */
const MOST_SHOWN = 20;

/**
 * Runs the steps, prints what became of them, and resolves to whether all have passed. What is left of `seconds` limits
 * each step, so that a busy machine still gets to the last line.
 */
export async function gate(steps: readonly Step[], seconds: number): Promise<boolean> {
  const journals = mkdtempSync(join(tmpdir(), "interlock-journals-"));
  const results: Result[] = [];
  for (const [i, step] of steps.entries()) {
    const limit = Math.max(1, Math.min(step.limit, Math.round(seconds - performance.now() / 1000)));
    results.push(await result(step, limit, join(journals, `${i}`)));
  }
  rmSync(journals, { recursive: true });
  return report(results);
}

async function result(step: Step, limit: number, journal: string): Promise<Result> {
  mkdirSync(journal);
  const [command, ...args] = step.command;
  console.log(`\n===== ${step.name}: ${step.command.join(" ")} (at most ${limit} s)`);
  const outcome = await run(command!, args, { limit, env: { TEST_JOURNAL: journal } });
  const { status, seconds, timedOut, leftovers, output } = outcome;
  console.log(`===== ${step.name}: ${timedOut ? "not over" : `exit code ${status}`} after ${Math.round(seconds)} s`);
  for (const line of leftovers) console.log(`      left behind, ended now: ${line}`);
  const cases = withFailuresOfBun(journalOf(journal), output);
  const failed: string[] = [];
  if (timedOut) failed.push(`not over after ${limit} s`);
  else if (status !== 0 && failuresOf(cases).length === 0) {
    failed.push(`exit code ${status}, and no failed test says why`);
  }
  if (step.hasTests && cases.length === 0) failed.push("no test was run");
  if (output.includes(PASSWORD)) failed.push("the password of the tests' servers shows in the output");
  return { step, outcome, cases, failed };
}

/** Prints what has failed last: of a long output the end is what is kept. Returns whether nothing has. */
function report(results: readonly Result[]): boolean {
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
  for (const { step, outcome, cases, failed } of results) {
    const failures = failuresOf(cases);
    const uncaught = failures.length + failed.length > 0 ? uncaughtIn(outcome.output, failures) : [];
    for (const error of uncaught) console.log(`\n${step.name}: UNCAUGHT in no test: ${error}`);
    for (const failure of failures.slice(0, MOST_SHOWN)) console.log(`\n${step.name}: ${show(failure)}`);
    for (const line of failed) console.log(`\n${step.name}: FAILED ${line}`);
    const isUnexplained = failures.length + failed.length > 0 && uncaught.length === 0 && failures.length === 0;
    if (isUnexplained) console.log(outcome.output.split("\n").slice(-40).join("\n"));
  }
  console.log(`\n${sum.passed} passed, ${sum.failed} failed`);
  return sum.failed === 0 && sum.passed > 0;
}
