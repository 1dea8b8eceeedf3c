/**
 * The one place that knows which run-time the tests run in. `test(name, fn)` registers with `Deno.test` (sanitizers
 * on), `bun:test` or `node:test`; assertions are `node:assert/strict` everywhere, and no error that they see may show a
 * password.
 */
import process from "node:process";
import { watchErrors } from "./_secrets.ts";

type Body = () => void | Promise<void>;

export interface TestOptions {
  /** Milliseconds after which a stuck test is ended. Default: 60,000. */
  readonly timeout?: number;
}

/** For a machine that is three times as busy as a quiet one. A test that needs more says so. */
const LIMIT = 60_000;
/** How long a process of Node may go on after its last test, in ms. */
const CLOSING = 5_000;

// Typed by hand so that no run-time's own types are needed to check the tests in another one.
const deno = (globalThis as { Deno?: { test(definition: object): void } }).Deno;

/** "deno", "bun" or "node". */
export const runtime: "deno" | "bun" | "node" = deno ? "deno" : "Bun" in globalThis ? "bun" : "node";

const register = await registrar();
watchErrors();

async function registrar(): Promise<(name: string, fn: Body, timeout: number) => void> {
  if (deno) {
    const sanitizers = { sanitizeOps: true, sanitizeResources: true, sanitizeExit: true };
    return (name, fn, timeout) => deno.test({ name, fn, timeout, ...sanitizers });
  }
  if (runtime === "bun") {
    const bunTest = "bun:test"; // a variable, so that no other run-time looks for it
    const { test } = await import(bunTest);
    return (name, fn, timeout) => test(name, fn, timeout);
  }
  const { after, test } = await import("node:test");
  // A handle left open would keep the process alive for ever. --test-force-exit of Node 20.20 loses the report.
  after(() => void setTimeout(() => process.exit(), CLOSING).unref());
  return (name, fn, timeout) => void test(name, { timeout }, fn);
}

/** Registers a test. */
export function test(name: string, fn: Body, options: TestOptions = {}): void {
  register(name, fn, options.timeout ?? LIMIT);
}
