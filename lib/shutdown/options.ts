/**
 * The options of GracefulShutdown.
 *
 * @module
 */
import { checkBoolean, checkFunction, checkOptions, checkString, checkTimeout, must } from "../internal/check.ts";
import { checkSignalNames } from "./os_signals.ts";

/** How {@linkcode GracefulShutdown} behaves. All times are in milliseconds. */
export interface GracefulShutdownOptions {
  /**
   * Time limit of the whole shutdown in ms, from the first signal on, including `delay` and clean-up steps. At its end,
   * work in flight is cut. With `Infinity`, only a second signal cuts work. Default: 10,000.
   */
  readonly grace?: number | undefined;
  /** OS signals that start the shutdown; `[]` means none. Default: SIGINT and SIGTERM. */
  readonly signals?: readonly string[] | undefined;
  /**
   * Time in ms after the first OS signal during which further signals have no effect. Wrappers (dumb-init, `deno task`,
   * `npm start`, `node --watch`) and frameworks forward the first signal; later signals force the shutdown. Default:
   * 250.
   */
  readonly debounce?: number | undefined;
  /**
   * Time after the signal during which new connections are still accepted, while `ready` is already false and responses
   * ask clients to close their connections. For load balancers that keep sending requests until they notice that
   * `ready` is false. When the shutdown begins, a function is called with `forced`, and its promise is awaited: `delay:
   * () => registry.leave()`. Its error is in the report, and the shutdown continues. Default: 0.
   */
  readonly delay?: number | ((forced: AbortSignal) => unknown) | undefined;
  /** Time of silence in ms after which a connection is closed as idle, once the listener is closed. Default: 100. */
  readonly idle?: number | undefined;
  /**
   * How to treat requests that arrive on existing connections once the listener is closed: `"serve"` serves them with
   * `Connection: close`; `"refuse"` sends 503 with `Retry-After`. Default: `"serve"`.
   */
  readonly late?: "serve" | "refuse" | undefined;
  /** When refused clients should come back, in ms, rounded up to whole seconds. Default: 1,000. */
  readonly retryAfter?: number | undefined;
  /** Whether the service has started. If false, `ready` is false until you set it to true. Default: true. */
  readonly ready?: boolean | undefined;
}

/** The options with every default filled in. */
export type ShutdownSettings = {
  readonly [K in keyof GracefulShutdownOptions]-?: NonNullable<GracefulShutdownOptions[K]>;
};

/** Checks the options and fills in the defaults. */
export function shutdownSettings(options: GracefulShutdownOptions | undefined): ShutdownSettings {
  const given = checkOptions(options, "grace");
  const { grace = 10_000, signals = ["SIGINT", "SIGTERM"], delay = 0, idle = 100 } = given;
  const { retryAfter = 1_000, debounce = 250, late = "serve", ready = true } = given;
  checkTimeout(grace, "grace");
  checkSignalNames(signals);
  checkTimeout(debounce, "debounce");
  if (typeof delay === "function") checkFunction(delay, "delay");
  else {
    checkTimeout(delay, "delay");
    must(delay <= grace, "delay", `not be more than grace (${grace} ms)`, delay, RangeError);
  }
  checkTimeout(idle, "idle");
  checkTimeout(retryAfter, "retryAfter");
  must(Number.isInteger(retryAfter), "retryAfter", "be a whole number of milliseconds", retryAfter, RangeError);
  checkString(late, "late");
  must(late === "serve" || late === "refuse", "late", 'be "serve" or "refuse"', late, RangeError);
  checkBoolean(ready, "ready");
  return { grace, signals, debounce, delay, idle, late, retryAfter, ready };
}

/** The function that labels requests, or none. */
export function readLabel<L>(options: { readonly label?: L | undefined } | undefined): L | undefined {
  const { label } = checkOptions(options, "label");
  if (label !== undefined) checkFunction(label, "label");
  return label;
}
