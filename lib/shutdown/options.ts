/**
 * What GracefulShutdown is told, and what it reports.
 *
 * @module
 */
import { checkInteger, checkOptions, checkString, checkTimeout, must } from "../internal/check.ts";
import { checkSignalNames, inTerminal } from "./os_signals.ts";

/** How {@linkcode GracefulShutdown} behaves. All times are in milliseconds. */
export interface GracefulShutdownOptions {
  /**
   * How long everything may take from the first signal on, `delay` and clean-up steps included; 10,000 unless said. What
   * is still in flight then is cut. `Infinity` means that only a second signal cuts.
   */
  readonly grace?: number | undefined;
  /** The operating system's signals that ask for shutdown; SIGINT and SIGTERM unless said. `[]` means none. */
  readonly signals?: readonly string[] | undefined;
  /**
   * How long after the first signal another one counts as its echo and does not force: `deno task`, `bun run` and the like
   * pass on a signal that the process got itself, too. Unless said 250 in a terminal (when stderr is one), else 0.
   */
  readonly debounce?: number | undefined;
  /**
   * How long newcomers are still served after the signal, while `ready` already says no and answers ask the clients to
   * close their connections; 0 unless said. For load balancers that go on sending until they notice.
   */
  readonly delay?: number | undefined;
  /** How long a kept-alive connection has to be silent in order to be closed as idle; 100 unless said. */
  readonly idle?: number | undefined;
  /**
   * What requests get that arrive on existing connections after the signal (and `delay`): `"serve"`, their answer, with
   * `Connection: close`; `"refuse"`, 503 with `Retry-After`. Default: `"serve"`.
   */
  readonly late?: "serve" | "refuse" | undefined;
  /** After which time refused clients are asked to come back, rounded up to whole seconds; 1,000 unless said. */
  readonly retryAfter?: number | undefined;
}

/** What became of a shutdown. */
export interface ShutdownReport {
  /** What `request` was given, or an AbortError that names the operating system's signal. */
  readonly reason: unknown;
  /** Whether everything that was in flight ended by itself. */
  readonly drained: boolean;
  /** The labels of what was cut. */
  readonly remaining: readonly string[];
  /** ms from the first signal to the end. */
  readonly elapsed: number;
  /** What clean-up steps threw, and a TimeoutError for each that did not end in time. */
  readonly errors: readonly unknown[];
}

/** The same with every default filled in. */
export type ShutdownSettings = {
  readonly [K in keyof GracefulShutdownOptions]-?: NonNullable<GracefulShutdownOptions[K]>;
};

/** Checks the options and fills in the defaults. */
export function shutdownSettings(options: GracefulShutdownOptions | undefined): ShutdownSettings {
  checkOptions(options);
  const { grace = 10_000, signals = ["SIGINT", "SIGTERM"], delay = 0, idle = 100, retryAfter = 1_000 } = options ?? {};
  const { late = "serve" } = options ?? {};
  const { debounce = inTerminal() ? 250 : 0 } = options ?? {};
  checkTimeout(grace, "grace");
  checkSignalNames(signals);
  checkTimeout(debounce, "debounce");
  checkTimeout(delay, "delay");
  must(delay <= grace, "delay", `not be more than grace (${grace})`, delay, RangeError);
  checkTimeout(idle, "idle");
  checkInteger(retryAfter, "retryAfter", 0);
  must(typeof late === "string", "late", 'be "serve" or "refuse"', late);
  must(late === "serve" || late === "refuse", "late", 'be "serve" or "refuse"', late, RangeError);
  return { grace, signals, debounce, delay, idle, retryAfter, late };
}

/** A label, or none. */
export function checkLabel(value: unknown): asserts value is string | undefined {
  if (value !== undefined) checkString(value, "label");
}
