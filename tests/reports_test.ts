/** The count of CI: a skipped test is never a success, and the failed tests come in a useful order. */
import assert from "node:assert/strict";
import { casesOf, failuresOf, firstCause, isConsequence, show } from "../scripts/_reports.ts";
import { test } from "./_test.ts";

const report = (...cases: string[]) => `<testsuites>${cases.join("\n")}</testsuites>`;
const PASSED = `<testcase name="a &gt; b" time="0"/>`;
const FAILED = `<testcase name="c"><failure message="no">1 &#60; 2&#10;at &quot;x&quot;</failure></testcase>`;
const LEAKS = `<testcase name="d"><failure message="Leaks detected">Leaks detected:\n  - A timer</failure></testcase>`;
const CANCELLED = `<testcase name="g"><failure message="Cancelled">Cancelled</failure></testcase>`;
const SKIPPED = `<testcase name="e"><skipped type="skipped"/></testcase>`;
const BUN = `<testcase name="f" file="f_test.ts">\n<failure type="Error" message="says it" />\n</testcase>`;

test("reports: names and errors are read as they were written", () => {
  assert.deepEqual(casesOf(report(PASSED, FAILED, BUN)), [
    { name: "a > b", failure: undefined },
    { name: "c", failure: '1 < 2\nat "x"' },
    { name: "f", failure: "says it" },
  ]);
});

test("reports: a skipped test has failed", () => {
  assert.deepEqual(failuresOf(casesOf(report(PASSED, SKIPPED))), [{ name: "e", failure: "skipped" }]);
});

test("reports: a file is a case only if it failed", () => {
  const file = `name="tests/lock_test.ts" classname="test"`;
  assert.deepEqual(casesOf(report(`<testcase ${file}/>`)), []);
  const [broken] = casesOf(report(`<testcase ${file}><failure message="exit code 1"></failure></testcase>`));
  assert.deepEqual(broken, { name: "tests/lock_test.ts", failure: "exit code 1" });
});

test("reports: causes come before leaks and cancelled tests, and are shown with the first lines of their error", () => {
  const failures = failuresOf(casesOf(report(LEAKS, CANCELLED, PASSED, FAILED)));
  assert.deepEqual(failures.map(({ name }) => name), ["c", "d", "g"]);
  assert.deepEqual(failures.map(isConsequence), [false, true, true]);
  assert.equal(show(failures[0]!), 'FAILED c\n    1 < 2\n    at "x"');
});

test("reports: the first cause of a failed check is its first error", () => {
  const types =
    "Check mod.ts\nTS2322 [ERROR]: no number\n    at lib/a.ts:1:2\n\nTS2304 [ERROR]: later\n\nerror: Type checking failed.";
  assert.equal(firstCause(types), "    TS2322 [ERROR]: no number\n        at lib/a.ts:1:2");
  assert.equal(
    firstCause("\x1b[1mfrom\x1b[0m a.ts:\n1 | a;\n\nerror: Found 1 not formatted file"),
    "    from a.ts:\n    1 | a;",
  );
  assert.equal(firstCause("Checking\nerror: no such file"), "    error: no such file");
});
