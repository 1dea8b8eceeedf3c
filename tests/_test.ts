/**
 * The one place that knows which run-time the tests run in. `test(name, fn)` registers with `Deno.test` (sanitizers
 * on), `bun:test` or `node:test`; assertions are `node:assert/strict` everywhere, and no error that they see may show a
 * password.
 */
import { watchErrors } from "./_secrets.ts";

type Body = () => void | Promise<void>;

export interface TestOptions {
  /** Milliseconds after which a stuck test is ended, if the runner can do that. */
  readonly timeout?: number;
}

// Typed by hand so that no run-time's own types are needed to check the tests in another one.
const deno = (globalThis as { Deno?: { test(definition: object): void } }).Deno;

/** "deno", "bun" or "node". */
export const runtime: "deno" | "bun" | "node" = deno ? "deno" : "Bun" in globalThis ? "bun" : "node";

const register = await registrar();
watchErrors();

async function registrar(): Promise<(name: string, fn: Body, options: TestOptions) => void> {
  if (deno) {
    return (name, fn) => deno.test({ name, fn, sanitizeOps: true, sanitizeResources: true, sanitizeExit: true });
  }
  if (runtime === "bun") {
    const bunTest = "bun:test"; // a variable, so that no other run-time looks for it
    const { test } = await import(bunTest);
    return (name, fn, { timeout = 60_000 }) => test(name, fn, timeout);
  }
  const { test } = await import("node:test");
  return (name, fn, options) => void test(name, options, fn);
}

/** Registers a test. */
export function test(name: string, fn: Body, options: TestOptions = {}): void {
  register(name, fn, options);
}
