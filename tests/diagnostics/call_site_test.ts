import assert from "node:assert/strict";
import { callerIn, captureStack } from "../../lib/diagnostics/call_site.ts";
import { test } from "../_test.ts";

/** How every captured stack begins. */
const OWN = `Error\n    at captureStack (${new URL("../../lib/diagnostics/call_site.ts", import.meta.url)}:40:17)`;
const library = new URL("../../lib/", import.meta.url);

test("callSite: the first frame that is neither the library's nor the run-time's", () => {
  const v8 = [
    "Error: of no interest (at night:1:1)",
    OWN.split("\n")[1]!,
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

test("callSite: in the npm package the library is a few files", () => {
  const dist = "/srv/node_modules/@interlock/interlock/dist/interlock-";
  for (const [first, next] of [["observers.cjs", "main.cjs"], ["observers.js", "shared.js"]]) {
    const stack = `Error\n    at captureStack (${dist}${first}:1:1)\n    at Lock.acquire (${dist}${next}:9:1)`;
    assert.equal(`${callerIn(`${stack}\n    at checkout (/srv/dist/checkout.js:41:7)`)}`, "checkout.js:41");
  }
});

test("callSite: frames without a function, Windows paths, and the form of other engines", () => {
  const sites = {
    "    at file:///srv/checkout.ts:41:7": "checkout.ts:41",
    "    at async file:///srv/checkout.ts?v=2#x:41:7": "checkout.ts:41",
    "    at Object.<anonymous> (C:\\srv\\checkout.ts:41:7)": "checkout.ts:41",
    "checkout@/srv/checkout.ts:41:7": "checkout.ts:41",
    "    at checkout (https://example.com/js/checkout.js:41:7)": "checkout.js:41",
    // These do not decode, and that of a long line is not read.
    "    at checkout (file:///srv/100%.js:41:7)": "100%.js:41",
    "    at checkout (file://[/x.js:41:7)": "x.js:41",
    "    at checkout (file:///srv/%E0%A4%A.js:41:7)": "%E0%A4%A.js:41",
    "    at checkout (%:41:7)": "%:41",
    [`    at checkout (/srv/${"y".repeat(5_000)}.js:41:7)`]: "undefined",
  };
  for (const [frame, expected] of Object.entries(sites)) assert.equal(`${callerIn(`${OWN}\n${frame}`)}`, expected);
});

test("callSite: none where there is none", () => {
  const none = [undefined, "", "Error: x", [], `${OWN}\n    at native`, `${OWN}\n    at unknown:1:11`, OWN];
  for (const stack of none) assert.equal(callerIn(stack), undefined);
});

test("callSite: none in a bundle, where the first frame is in the user's file, too", () => {
  const bundle = "Error\n    at captureStack (file:///srv/bundle.js:1:1)\n    at checkout (file:///srv/bundle.js:9:9)";
  assert.equal(callerIn(bundle), undefined);
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
