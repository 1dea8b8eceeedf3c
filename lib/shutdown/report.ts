/**
 * The report of a shutdown, and how console.log shows it: always a line for each member.
 *
 * @module
 */
import { printable, quote } from "../internal/check.ts";
import { INSPECT, type Inspect } from "../internal/show.ts";

/** The outcome of a shutdown. */
export interface ShutdownReport {
  /** The argument of `request`, or an AbortError that names the OS signal. */
  readonly reason: unknown;
  /** Whether all work ended without being cut. */
  readonly drained: boolean;
  /** The labels of the work that was cut, and of clean-up steps and a `delay` function that `forced` cancelled. */
  readonly remaining: readonly string[];
  /** Milliseconds from the first signal to the end of the shutdown. */
  readonly elapsed: number;
  /** The errors of callbacks and clean-up steps, with a TimeoutError for each step that did not end in time. */
  readonly errors: readonly unknown[];
  /** Whether all work was drained and no callback or step failed. For the exit code: `process.exit(ok ? 0 : 1)`. */
  readonly ok: boolean;
}

/** Creates the report. */
export function report(outcome: Pick<ShutdownReport, "reason" | "remaining" | "elapsed" | "errors">): ShutdownReport {
  const { reason, remaining, elapsed, errors } = outcome;
  const drained = remaining.length === 0;
  const ok = drained && errors.length === 0;
  const result = { ok, reason, drained, remaining, elapsed, errors };
  const texts = { reason: lineOf(reason), remaining: summaryOf(remaining), errors: summaryOf(errors) };
  const shown = { ...result, ...texts, elapsed: Math.round(elapsed) };
  const value: Inspect = (_, options, inspect) => inspect(shown, options);
  return Object.defineProperty(result, INSPECT, { value }); // copies do not have it
}

/** Adds errors to a report. */
export function addErrors([earlier, errors]: [ShutdownReport, readonly unknown[]]): ShutdownReport {
  return errors.length === 0 ? earlier : report({ ...earlier, errors: [...earlier.errors, ...errors] });
}

/** How many entries of a list are shown. */
const SHOWN = 3;

function summaryOf(values: readonly unknown[]): unknown {
  if (values.length === 0) return [];
  const more = values.length > SHOWN ? ` and ${values.length - SHOWN} more` : "";
  return values.slice(0, SHOWN).map(lineOf).join(", ") + more;
}

/** Formats a value on one line, an error without its stack. */
function lineOf(value: unknown): string {
  if (value instanceof Error) return printable(`${value.name}: ${value.message}`);
  return typeof value === "string" ? printable(value) : quote(value);
}
