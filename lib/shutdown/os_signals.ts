/**
 * OS signals, on every run-time with a `process`.
 *
 * @module
 */
import { must } from "../internal/check.ts";
import { currentProcess, ifStillAlive } from "../internal/platform.ts";

/** Signals of Linux, macOS and Windows. Node and Bun accept a misspelt name and never receive it. */
const KNOWN = new Set(
  ("HUP INT QUIT ILL TRAP ABRT IOT BUS FPE USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT TSTP TTIN TTOU URG XCPU XFSZ " +
    "VTALRM PROF WINCH IO POLL INFO LOST PWR SYS EMT UNUSED BREAK KILL STOP").split(" ").map((name) => `SIG${name}`),
);

/** Names of signals, as an option. */
export function checkSignalNames(value: unknown): asserts value is readonly string[] {
  must(Array.isArray(value), "signals", "be an array", value);
  for (const name of value) {
    must(typeof name === "string", "signals", "contain strings", name);
    must(KNOWN.has(name), "signals", 'contain names like "SIGTERM"', name, RangeError);
    must(!/KILL|STOP/.test(name), "signals", "contain signals that can be caught", name, RangeError);
  }
}

/** The process has one listener for each event in use, which calls these functions in the order in which they came. */
const sharedListeners = new Map<string, { readonly fns: Set<() => void>; readonly listener: () => void }>();

/** Calls `fn` at each such event of the process. Returns a function that ends this. */
export function onProcess(event: string, fn: () => void): () => void {
  const process = currentProcess();
  const { on, off, listeners } = process ?? {};
  if (typeof on !== "function" || typeof off !== "function") return () => {};
  const fns = sharedListeners.get(event)?.fns ?? new Set();
  const listener = sharedListeners.get(event)?.listener ?? (() => [...fns].forEach((each) => fns.has(each) && each()));
  // Test suites remove all listeners between tests.
  if (!listeners?.call(process, event).includes(listener)) on.call(process, event, listener);
  sharedListeners.set(event, { fns, listener });
  fns.add(fn);
  return () => {
    if (!fns.delete(fn) || fns.size > 0) return;
    sharedListeners.delete(event);
    off.call(process, event, listener);
  };
}

/**
 * Calls `listener` at each of these signals instead of the system's default effect. Calling the returned function
 * restores the default effect, unless others listen. Listening does not keep the process alive.
 */
export function listenToSignals(names: readonly string[], listener: (name: string) => void): () => void {
  const stops: (() => void)[] = [];
  const stop = () => stops.splice(0).forEach((each) => each());
  try {
    for (const name of new Set(names)) stops.push(onProcess(name, () => listener(name)));
  } catch (error) {
    stop(); // this system does not know one of the names
    throw error;
  }
  return stop;
}

/** Ignores these signals if the process exits within `ms`. */
export function ignoreWhileExiting(names: readonly string[], ms: number): void {
  if (ms <= 0) return;
  const stop = onProcess("exit", () => void listenToSignals(names, () => {}));
  ifStillAlive(ms, stop);
}
