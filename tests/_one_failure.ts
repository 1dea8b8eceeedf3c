/**
 * Runs the body of a test so that one fault is one failure. An error that nothing catches fails the test that it came
 * from. After a failure, clocks are put back, and errors of what the body left behind are ignored. TEST_JOURNAL names a
 * folder for a journal of what began and how it ended: a process that is killed writes no report.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { inspect } from "node:util";

export type Body = () => void | Promise<void>;

/** How long a body may go on after an error that nothing caught, in ms: its own failure says more. */
const AFTER_UNCAUGHT = 5_000;
/** How long errors of what a failed body left behind have to come before the next test, in ms. */
const LEFTOVERS = 20;

const { setTimeout: startTimer, clearTimeout: stopTimer } = globalThis;

/** Everything that fake clocks replace. */
const clocks = ([
  [globalThis, ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "setImmediate", "clearImmediate"]],
  [globalThis, ["queueMicrotask", "Date", "performance"]],
  [performance, ["now"]],
  [Date, ["now"]],
  [process, ["nextTick", "hrtime"]],
] as [Record<string, unknown>, string[]][])
  .flatMap(([owner, names]) => names.map((name) => ({ owner, name, real: owner[name] })));

const isClockFake = () => clocks.some(({ owner, name, real }) => owner[name] !== real);

/** What else puts fake clocks back: those of the runners know whether they are in place. */
export const resets: (() => void)[] = [];

function putClocksBack(): void {
  for (const reset of resets) reset();
  for (const { owner, name, real } of clocks) if (owner[name] !== real) owner[name] = real;
}

/** A test, from the begin of its body on. */
class Run {
  readonly name: string;
  state: "running" | "passed" | "failed" = "running";
  /** The first error that nothing caught. */
  uncaught: Error | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #tooLong!: (error: Error) => void;
  readonly #limit: number;

  constructor(name: string, limit: number) {
    this.name = name;
    this.#limit = limit;
  }

  /** Rejects when the limit is over. */
  limit(): Promise<never> {
    return new Promise((_, reject) => {
      this.#tooLong = reject;
      this.#endIn(this.#limit);
    });
  }

  #endIn(ms: number): void {
    stopTimer(this.#timer);
    this.#timer = startTimer(() => {
      const clock = isClockFake() ? ", under a fake clock" : "";
      this.#tooLong(this.uncaught ?? new Error(`not over after ${this.#limit} ms (the timeout of this test)${clock}`));
    }, ms);
  }

  addUncaught(error: unknown, origin: string): void {
    const text = `${origin}: ${error instanceof Error ? error.message : inspect(error)}`;
    this.uncaught ??= Object.assign(new Error(text, { cause: error }), { stack: `Error: ${text}` });
    this.#endIn(Math.min(this.#limit, AFTER_UNCAUGHT));
  }

  over(state: "passed" | "failed"): void {
    this.state = state;
    stopTimer(this.#timer);
  }
}

const origin = new AsyncLocalStorage<Run>();
let current: Run | undefined;

/** Runs a body. Rejects with its error, or the first one that nothing caught, or when its limit is over. */
export async function runBody(name: string, fn: Body, limit: number): Promise<void> {
  const run = current = new Run(name, limit);
  note({ began: name });
  try {
    const tooLong = run.limit(); // set before the body, which may replace timers at once: those of Bun replace all
    await Promise.race([tooLong, origin.run(run, async () => await fn())]);
    if (run.uncaught !== undefined) throw run.uncaught;
    run.over("passed");
    note({ passed: name });
  } catch (error) {
    run.over("failed");
    putClocksBack();
    note({ failed: name, error: textOf(error) });
    await new Promise((resolve) => startTimer(resolve, LEFTOVERS));
    throw error;
  } finally {
    current = undefined;
  }
}

/** Takes an error that nothing caught. Returns whether a test answers for it. */
export function takeUncaught(error: unknown): boolean {
  const from = origin.getStore() ?? current;
  if (from?.state === "failed") return true;
  if (current === undefined) return false;
  const where = from === current ? "uncaught" : `uncaught, from ${JSON.stringify(from!.name)}, which had passed`;
  current.addUncaught(error, where);
  return true;
}

/** An error and its causes, as the journal has it. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return inspect(error);
  const stack = error.stack?.includes(error.message) ? error.stack : `${error.message}\n${error.stack}`;
  return error.cause === undefined ? stack : `${stack}\nCaused by: ${textOf(error.cause)}`;
}

const folder = process.env["TEST_JOURNAL"];
/** A file for each process, and for each thread of Deno. */
const journal = folder === undefined ? undefined : join(folder, `${process.pid}-${Math.random()}.jsonl`);

function note(entry: Record<string, string>): void {
  if (journal !== undefined) appendFileSync(journal, `${JSON.stringify(entry)}\n`);
}
