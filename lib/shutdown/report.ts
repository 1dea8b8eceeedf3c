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
export function report(found: Pick<ShutdownReport, "reason" | "remaining" | "elapsed" | "errors">): ShutdownReport {
  const { reason, remaining, elapsed, errors } = found;
  const drained = remaining.length === 0;
  const ok = drained && errors.length === 0;
  const made = { ok, reason, drained, remaining, elapsed, errors };
  const texts = { reason: line(reason), remaining: firstOf(remaining), errors: firstOf(errors) };
  const brief = { ...made, ...texts, elapsed: Math.round(elapsed) };
  const value: Inspect = (_, options, inspect) => inspect(brief, options);
  return Object.defineProperty(made, INSPECT, { value }); // copies do not have it
}

/** Adds errors to a report. */
export function addErrors([made, more]: [ShutdownReport, readonly unknown[]]): ShutdownReport {
  return more.length === 0 ? made : report({ ...made, errors: [...made.errors, ...more] });
}

/** How many entries of a list are shown. */
const SHOWN = 3;

function firstOf(values: readonly unknown[]): unknown {
  if (values.length === 0) return [];
  const more = values.length > SHOWN ? ` and ${values.length - SHOWN} more` : "";
  return values.slice(0, SHOWN).map(line).join(", ") + more;
}

/** Formats a value on one line, an error without its stack. */
function line(value: unknown): string {
  if (value instanceof Error) return printable(`${value.name}: ${value.message}`);
  return typeof value === "string" ? printable(value) : quote(value);
}
