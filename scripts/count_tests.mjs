/**
 * `node scripts/count_tests.mjs FOLDER REPORTS:EXITCODE…`: sums up JUnit reports and prints "N passed, N failed" as the
 * last line. REPORTS are the names of the reports (without .xml) that a command should have written, separated by
 * commas. A report that is missing or without a test counts as a failure, and so do a skipped test and an exit code that
 * no failed test explains.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";

const TEST_CASE = /<testcase\b([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g;
const FAILURE = /<(failure|error|skipped)\b/;
// Node reports a file like a test. That it failed is news, that it passed is not.
const FILE = /\bname="[^"]*_test\.ts"/;

function count(report) {
  const text = existsSync(report) ? readFileSync(report, "utf8") : "";
  const cases = [...text.matchAll(TEST_CASE)];
  const failed = cases.filter(([, , content = ""]) => FAILURE.test(content)).length;
  const passed = cases.filter(([, name, content = ""]) => !FAILURE.test(content) && !FILE.test(name)).length;
  return { passed, failed: passed + failed === 0 ? 1 : failed };
}

const [folder, ...outcomes] = process.argv.slice(2);
const sum = { passed: 0, failed: 0 };
for (const outcome of outcomes) {
  const [names, exitCode] = outcome.split(":");
  let explained = false;
  for (const name of names.split(",").filter(Boolean)) {
    const { passed, failed } = count(join(folder, `${name}.xml`));
    console.log(`${name}: ${passed} passed, ${failed} failed`);
    sum.passed += passed;
    sum.failed += failed;
    explained ||= failed > 0;
  }
  if (exitCode !== "0" && !explained) sum.failed++;
}
console.log(`${sum.passed} passed, ${sum.failed} failed`);
process.exit(sum.failed === 0 && sum.passed > 0 ? 0 : 1);
