/**
 * The one place that knows which run-time the tests run in. `test(name, fn)` registers with `Deno.test` (sanitizers
 * on), `bun:test` or `node:test`; assertions are `node:assert/strict` everywhere, and no error that they see may show a
 * password.
 */
import process from "node:process";
import { type Body, resets, runBody, takeUncaught } from "./_one_failure.ts";
import { watchErrors } from "./_secrets.ts";

export interface TestOptions {
  /** Milliseconds after which a stuck test is ended. Default: 120,000. */
  readonly timeout?: number;
}

/** Beyond the limit of `until`, whose error shows its condition. A test that needs more says so. */
const LIMIT = 120_000;
/** What the run-time's own limit adds to that of a test, in ms: it ends what lets no timer fire. */
const BACKSTOP = 10_000;
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
    for (const event of ["error", "unhandledrejection"]) {
      addEventListener(event, (event) => {
        const { error, reason } = event as ErrorEvent & PromiseRejectionEvent;
        if (takeUncaught(error ?? reason)) event.preventDefault();
      });
    }
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
    const { afterAll, beforeAll, jest, onTestFinished, test } = await import(bunTest);
    resets.push(() => void jest.useRealTimers());
    return {
      // Bun fails a test at its first uncaught error, and starts the next one while the body goes on.
      register: (name, fn, timeout) =>
        test(name, () => {
          const body = fn();
          onTestFinished(() => Promise.resolve(body).catch(() => {}));
          return body;
        }, timeout),
      aroundAll: (before, after) => {
        beforeAll(before);
        afterAll(after);
      },
    };
  }
  const { after, before, mock, test } = await import("node:test");
  resets.push(() => mock.timers.reset());
  // A handle left open would keep the process alive for ever. --test-force-exit of Node 20.20 loses the report.
  after(() => void setTimeout(() => process.exit(), CLOSING).unref());
  return {
    register: (name, fn, timeout) =>
      void test(name, { timeout }, () => {
        takeOver();
        return fn();
      }),
    aroundAll: (first, last) => {
      before(first);
      after(last);
    },
  };
}

let tookOver = false;

/** The runner of Node takes uncaught errors from its first test on; from here on only those that no test answers for. */
function takeOver(): void {
  if (tookOver) return;
  tookOver = true;
  for (const event of ["uncaughtException", "unhandledRejection"]) {
    const listeners = process.listeners(event as "exit") as ((error: unknown) => void)[];
    process.removeAllListeners(event);
    process.on(event, (error: unknown) => {
      if (!takeUncaught(error)) { for (const listener of listeners) listener(error); }
    });
  }
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
  const limit = options.timeout ?? LIMIT;
  register(name, () => runBody(name, fn, limit), limit + BACKSTOP);
}
