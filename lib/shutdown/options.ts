/**
 * The options of GracefulShutdown, and its report.
 *
 * @module
 */
import { checkBoolean, checkInteger, checkOptions, checkString, checkTimeout, must } from "../internal/check.ts";
import { checkSignalNames, inTerminal } from "./os_signals.ts";

/** How {@linkcode GracefulShutdown} behaves. All times are in milliseconds. */
export interface GracefulShutdownOptions {
  /**
   * Limit of the whole shutdown from the first signal on, `delay` and clean-up steps included. Work that is still in flight
   * then is cut. With `Infinity`, only a second signal cuts. Default: 10,000.
   */
  readonly grace?: number | undefined;
  /** OS signals that start the shutdown; `[]` means none. Default: SIGINT and SIGTERM. */
  readonly signals?: readonly string[] | undefined;
  /**
   * For how long after the first OS signal another one counts as its echo and does not force: `deno task`, `bun run` and the
   * like pass on a signal that the process received itself. Default: 250 in a terminal (when stderr is one), else 0.
   */
  readonly debounce?: number | undefined;
  /**
   * For how long after the signal new connections are still accepted, while `ready` is false already and answers ask the
   * clients to close their connections. For load balancers that keep sending until they notice. Default: 0.
   */
  readonly delay?: number | undefined;
  /** How long a connection has to be silent, once the listener is closed, to be closed as idle. Default: 100. */
  readonly idle?: number | undefined;
  /**
   * How to treat requests that arrive on existing connections once the listener is closed: `"serve"` answers them, with
   * `Connection: close`; `"refuse"` sends 503 with `Retry-After`. Default: `"serve"`.
   */
  readonly late?: "serve" | "refuse" | undefined;
  /** When refused clients should come back, rounded up to whole seconds. Default: 1,000. */
  readonly retryAfter?: number | undefined;
  /** Whether the service has started; if false, `ready` stays false until it is set. Default: true. */
  readonly ready?: boolean | undefined;
}

/** The outcome of a shutdown. */
export interface ShutdownReport {
  /** The argument of `request`, or an AbortError that names the OS signal. */
  readonly reason: unknown;
  /** Whether all work in flight ended without being cut. */
  readonly drained: boolean;
  /** The labels of the work that was cut. */
  readonly remaining: readonly string[];
  /** ms from the first signal to the end. */
  readonly elapsed: number;
  /** The errors of callbacks and clean-up steps, with a TimeoutError for each step that did not end in time. */
  readonly errors: readonly unknown[];
  /** Whether it was drained without errors. For the exit code: `process.exit(ok ? 0 : 1)`. */
  readonly ok: boolean;
}

/** The options with every default filled in. */
export type ShutdownSettings = {
  readonly [K in keyof GracefulShutdownOptions]-?: NonNullable<GracefulShutdownOptions[K]>;
};

/** Checks the options and fills in the defaults. */
export function shutdownSettings(options: GracefulShutdownOptions | undefined): ShutdownSettings {
  checkOptions(options);
  const { grace = 10_000, signals = ["SIGINT", "SIGTERM"], delay = 0, idle = 100, retryAfter = 1_000 } = options ?? {};
  const { debounce = inTerminal() ? 250 : 0, late = "serve", ready = true } = options ?? {};
  checkTimeout(grace, "grace");
  checkSignalNames(signals);
  checkTimeout(debounce, "debounce");
  checkTimeout(delay, "delay");
  must(delay <= grace, "delay", `not be more than grace (${grace})`, delay, RangeError);
  checkTimeout(idle, "idle");
  checkInteger(retryAfter, "retryAfter", 0);
  checkString(late, "late");
  must(late === "serve" || late === "refuse", "late", 'be "serve" or "refuse"', late, RangeError);
  checkBoolean(ready, "ready");
  return { grace, signals, debounce, delay, idle, late, retryAfter, ready };
}

/** A label, or none. */
export function checkLabel(value: unknown): asserts value is string | undefined {
  if (value !== undefined) checkString(value, "label");
}
