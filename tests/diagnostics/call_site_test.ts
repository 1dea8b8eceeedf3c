import assert from "node:assert/strict";
import { callerIn, captureStack } from "../../lib/diagnostics/call_site.ts";
import { test } from "../_test.ts";

const library = new URL("../../lib/", import.meta.url);

test("callSite: the first frame that is neither the library's nor the run-time's", () => {
  const v8 = [
    "Error: of no interest (at night:1:1)",
    `    at captureStack (${library}diagnostics/call_site.ts:40:17)`,
    `    at new Promise (<anonymous>)`,
    `    at Lock.acquire (${library}lock.ts:70:12)`,
    "    at node:internal/process/task_queues:95:5",
    "    at ext:core/01_core.js:10:3",
    "    at async Promise.all (index 0)",
    "    at async checkout (file:///srv/a%20b/check(out).ts:41:7)",
    "    at main (file:///srv/main.ts:1:1)",
  ];
  const site = callerIn(v8.join("\n"))!;
  assert.deepEqual({ ...site }, { file: "file:///srv/a%20b/check(out).ts", line: 41, column: 7 });
  assert.equal(`${site}`, "check(out).ts:41");
});

test("callSite: frames without a function, Windows paths, and the form of other engines", () => {
  const sites = {
    "    at file:///srv/checkout.ts:41:7": "checkout.ts:41",
    "    at async file:///srv/checkout.ts?v=2#x:41:7": "checkout.ts:41",
    "    at Object.<anonymous> (C:\\srv\\checkout.ts:41:7)": "checkout.ts:41",
    "checkout@/srv/checkout.ts:41:7": "checkout.ts:41",
    "    at checkout (https://example.com/js/checkout.js:41:7)": "checkout.js:41",
  };
  for (const [frame, expected] of Object.entries(sites)) assert.equal(`${callerIn(`Error\n${frame}`)}`, expected);
});

test("callSite: none where there is none", () => {
  for (const stack of [undefined, "", "Error: x", [], "Error\n    at native"]) assert.equal(callerIn(stack), undefined);
});

test("callSite: the stack is deep enough, and the limit stays as it was", () => {
  const limits = Error as { stackTraceLimit?: number };
  const before = limits.stackTraceLimit;
  // Not a tail call, which leaves no frame in Bun.
  const deep = (n: number): Error => n === 0 ? captureStack() : [n - 1].map(deep)[0]!;
  limits.stackTraceLimit = 1;
  try {
    assert.ok(deep(20).stack!.split("\n").length > 15);
    assert.equal(limits.stackTraceLimit, 1);
  } finally {
    if (before !== undefined) limits.stackTraceLimit = before;
  }
});
