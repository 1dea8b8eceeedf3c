/**
 * The tests of http2.ts. In Deno they have a process of their own, which is begun again if it crashes: in Deno 2.9.6 a
 * GOAWAY can end the process in nghttp2, now and then (denoland/deno#36788), and with it all other tests.
 */
import assert from "node:assert/strict";
import { runProgram } from "../_program.ts";
import { runtime, test } from "../_test.ts";

const ATTEMPTS = 3;
/** Milliseconds; they take 4 s. */
const LIMIT = 60_000;

const run = () =>
  runProgram(new URL("./http2.ts", import.meta.url), [], {
    limit: LIMIT,
    flags: ["test", "-A", "--no-check", "--trace-leaks"],
  });

if (runtime === "deno") {
  test("http2: all tests of http2.ts pass, deno", async () => {
    let end = await run();
    for (let crashes = 1; end.code === null && crashes < ATTEMPTS; crashes++) end = await run();
    assert.equal(end.code, 0, end.out + end.err);
    assert.match(end.out, /[1-9]\d* passed/);
  }, { timeout: (ATTEMPTS + 1) * LIMIT });
} else await import("./http2.ts");
