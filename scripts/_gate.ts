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
import { failuresOf, journalOf, show, uncaughtIn, withFailuresOfBun } from "./_reports.ts";
import { run } from "./_run.ts";
import type { Step } from "./_steps.ts";

interface Result {
  readonly step: Step;
  readonly seconds: number;
  readonly passed: number;
  /** What is wrong with the step itself, then the failed tests. */
  readonly failures: readonly string[];
  /** Errors of no test, or the end of the output, if the failures say nothing. */
  readonly causes: readonly string[];
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
  console.log(`\n===== ${step.name}: ${step.command.join(" ")} (at most ${limit} s)`);
  const outcome = await run(step.command, { limit, env: { TEST_JOURNAL: journal } });
  const { status, seconds, timedOut, leftovers, output } = outcome;
  console.log(`===== ${step.name}: ${timedOut ? "not over" : `exit code ${status}`} after ${Math.round(seconds)} s`);
  for (const line of leftovers) console.log(`      left behind, ended now: ${line}`);
  const cases = withFailuresOfBun(journalOf(journal), output);
  const failedTests = failuresOf(cases);
  const failures: string[] = [];
  if (timedOut) failures.push(`FAILED not over after ${limit} s`);
  else if (status !== 0 && failedTests.length === 0) {
    failures.push(`FAILED exit code ${status}, and no failed test says why`);
  }
  if (step.hasTests && cases.length === 0) failures.push("FAILED no test was run");
  if (output.includes(PASSWORD)) failures.push("FAILED the password of the tests' servers shows in the output");
  failures.push(...failedTests.map(show));
  const causes = failures.length > 0 ? uncaughtIn(output, failedTests) : [];
  if (failures.length > 0 && failedTests.length + causes.length === 0) {
    causes.push(output.split("\n").slice(-40).join("\n"));
  }
  return { step, seconds, passed: cases.length - failedTests.length, failures, causes };
}

/** Prints what has failed last: of a long output the end is what is kept. Returns whether nothing has. */
function report(results: readonly Result[]): boolean {
  let allPassed = 0, allFailed = 0;
  console.log(`\n===== ${Math.round(performance.now() / 1000)} s in all`);
  for (const { step, seconds, passed, failures } of results) {
    allPassed += passed;
    allFailed += failures.length;
    const times = `${Math.round(seconds)} of ${step.limit} s`;
    console.log(`${step.name.padEnd(24)} ${times.padEnd(16)} ${passed} passed, ${failures.length} failed`);
  }
  for (const { step, causes, failures } of results) {
    for (const cause of causes) console.log(`\n${step.name}: ${cause}`);
    for (const failure of failures.slice(0, MOST_SHOWN)) console.log(`\n${step.name}: ${failure}`);
  }
  console.log(`\n${allPassed} passed, ${allFailed} failed`);
  return allFailed === 0 && allPassed > 0;
}
