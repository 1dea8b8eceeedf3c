/**
 * The tests of http2.ts. In Deno they have a process of their own, which is begun again if it crashes: in Deno 2.9.6 a
 * GOAWAY can end the process in nghttp2, now and then (denoland/deno#36788), and with it all other tests.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import process from "node:process";
import { text } from "node:stream/consumers";
import { runtime, test } from "../_test.ts";

const ATTEMPTS = 3;

/** Resolves to what it printed, once its tests have run. */
async function inProcessOfItsOwn(): Promise<{ code: number | null; out: string }> {
  const args = ["test", "-A", "--no-check", "--trace-leaks", "tests/shutdown/http2.ts"];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const [code, out] = await Promise.all([ended, text(child.stdout)]);
  return { code, out };
}

if (runtime === "deno") {
  test("http2: all tests of http2.ts pass, deno", async () => {
    let end = await inProcessOfItsOwn();
    for (let crashes = 1; end.code === null && crashes < ATTEMPTS; crashes++) end = await inProcessOfItsOwn();
    assert.equal(end.code, 0, end.out);
    assert.match(end.out, /[1-9]\d* passed/);
  });
} else await import("./http2.ts");
