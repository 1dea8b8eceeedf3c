/**
 * The one place that knows which run-time the tests run in. `test(name, fn)` registers with `Deno.test` (sanitizers
 * on), `bun:test` or `node:test`; assertions are `node:assert/strict` everywhere, and no error that they see may show a
 * password.
 */
import process from "node:process";
import { watchErrors } from "./_secrets.ts";

type Body = () => void | Promise<void>;

export interface TestOptions {
  /** Milliseconds after which a stuck test is ended. Default: 120,000. */
  readonly timeout?: number;
}

/** Beyond the limit of `until`, whose error shows its condition. A test that needs more says so. */
const LIMIT = 120_000;
/** How long a process of Node may go on after its last test, in ms. */
const CLOSING = 5_000;

// Typed by hand so that no run-time's own types are needed to check the tests in another one.
interface DenoTest {
  (definition: object): void;
  beforeAll(fn: () => Promise<void>): void;
  afterAll(fn: () => Promise<void>): void;
}
const deno = (globalThis as { Deno?: { test: DenoTest } }).Deno;

/** "deno", "bun" or "node". */
export const runtime: "deno" | "bun" | "node" = deno ? "deno" : "Bun" in globalThis ? "bun" : "node";

const { register, aroundAll } = await registrar();
watchErrors();
outliveShutdowns();

interface Registrar {
  register(name: string, fn: Body, timeout: number): void;
  aroundAll(before: () => Promise<void>, after: () => Promise<void>): void;
}

async function registrar(): Promise<Registrar> {
  if (deno) {
    const { test } = deno;
    const sanitizers = { sanitizeOps: true, sanitizeResources: true, sanitizeExit: true };
    return {
      register: (name, fn, timeout) => test({ name, fn, timeout, ...sanitizers }),
      aroundAll: (before, after) => {
        test.beforeAll(before);
        test.afterAll(after);
      },
    };
  }
  if (runtime === "bun") {
    const bunTest = "bun:test"; // a variable, so that no other run-time looks for it
    const { afterAll, beforeAll, test } = await import(bunTest);
    return {
      register: (name, fn, timeout) => test(name, fn, timeout),
      aroundAll: (before, after) => {
        beforeAll(before);
        afterAll(after);
      },
    };
  }
  const { after, before, test } = await import("node:test");
  // A handle left open would keep the process alive for ever. --test-force-exit of Node 20.20 loses the report.
  after(() => void setTimeout(() => process.exit(), CLOSING).unref());
  return {
    register: (name, fn, timeout) => void test(name, { timeout }, fn),
    aroundAll: (first, last) => {
      before(first);
      after(last);
    },
  };
}

/** A process of tests is alive 5 s after a shutdown of one of them, which is no warning for the tests that run then. */
function outliveShutdowns(): void {
  const emit = process.emitWarning as (...warning: unknown[]) => void;
  process.emitWarning = ((...warning: unknown[]) => {
    const { code } = Object(warning[1]) as { code?: string };
    if (code !== "INTERLOCK_STILL_ALIVE") emit.apply(process, warning);
  }) as typeof process.emitWarning;
}

/** Registers what the tests of this file share, outside of each of them. */
export { aroundAll };

/** Registers a test. */
export function test(name: string, fn: Body, options: TestOptions = {}): void {
  register(name, fn, options.timeout ?? LIMIT);
}
