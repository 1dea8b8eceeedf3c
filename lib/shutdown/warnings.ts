/**
 * Process warnings about a shutdown that does less than it seems to, or more.
 *
 * @module
 */
import { printable } from "../internal/check.ts";
import { builtin, currentProcess, ifStillAlive, runtime, warn, warningsPrinted } from "../internal/platform.ts";
import type { ShutdownState } from "./shutdown_state.ts";

/** ms that a process has to end once its shutdown is over. */
const EXIT_WITHIN = 5_000;
/** How many names a message lists. */
const LISTED = 10;

/** The warnings of shutdowns. A process that exits when its shutdown is finished prints them first. */
let printed: Promise<void> | undefined;

/** Resolves when they are printed. */
export function whenPrinted(): Promise<void> | undefined {
  return printed;
}

function emit(message: string, code: string): void {
  warn(message, code);
  printed = warningsPrinted();
}

/** Warns when a shutdown begins that nothing, or not enough, was tied to. */
export function warnIfNotTied(state: ShutdownState): void {
  if (!state.started) return; // it is the start-up that was interrupted
  if (!state.used) warnNotAttached("nothing was attached, handled, tracked, deferred or registered");
  else if (runtime() === "node" && state.calls.arrived > 0 && state.servers.size === 0) {
    warnNotAttached("its handler answered requests and no server was attached");
  }
  if (![...state.servers].some((server) => server.isUncounted?.())) return;
  emit("Cannot count requests; pass the server fetch: shutdown.handler(app.fetch)", "INTERLOCK_NOT_COUNTED");
}

function warnNotAttached(problem: string): void {
  emit(`Cannot wait for requests: ${problem}; call shutdown.attach(server)`, "INTERLOCK_NOT_ATTACHED");
}

/** Warns with the cause for which the shutdown was forced and the labels of the work that it cut. */
export function warnForced(cause: string, labels: readonly string[]): void {
  emit(`Shutdown forced by ${cause}; ${what("cut", labels)}`, "INTERLOCK_FORCED");
}

/** Warns where OS signals never arrive: in a worker thread of Node or Bun. */
export function warnInWorker(signals: readonly string[]): void {
  if (signals.length === 0 || runtime() === "deno") return;
  if (builtin<{ isMainThread: boolean }>("worker_threads")?.isMainThread !== false) return;
  const remedy = "pass signals: [], and call request() on a message of the main thread";
  emit(`Cannot receive ${signals.join(", ")} in a worker thread; ${remedy}`, "INTERLOCK_WORKER");
}

/** Prints a line if the process ends before the returned function was called: warnings come too late then. */
export function watchExit(state: ShutdownState): () => void {
  const exiting = () => {
    const work = what("in flight", state.pending());
    console.error(`[INTERLOCK_CUT_SHORT] Warning: Process ends during its shutdown; ${work}`);
  };
  currentProcess()?.on?.("exit", exiting);
  return () => void currentProcess()?.off?.("exit", exiting);
}

/** Shutdowns that were made so far, and those of them that are not over. */
let made = 0, open = 0;

/** Called for each shutdown that is made. */
export function countShutdown(): void {
  made++;
  open++;
}

/** Called once for each that is over. Warns if the process does not end after its last one. */
export function warnIfItStays(): void {
  if (--open > 0) return; // one of several servers was shut down, the process goes on with the others
  const last = made;
  ifStillAlive(EXIT_WITHIN, () => {
    if (made !== last) return; // the process has gone on to something else, such as the next test
    const resources = currentProcess()?.getActiveResourcesInfo?.() ?? [];
    const keepers = resources.length === 0 ? "" : ` (kept by ${list(counted(resources))})`;
    const remedy = "close what keeps it in defer(), or call process.exit(ok ? 0 : 1)";
    const message = `Process is still alive ${EXIT_WITHIN} ms after its shutdown${keepers}; ${remedy}`;
    warn(message, "INTERLOCK_STILL_ALIVE");
  });
}

/** `TCPSocketWrap × 3` for three of them. */
function counted(names: readonly string[]): string[] {
  return [...new Set(names)].map((name) => {
    const count = names.filter((each) => each === name).length;
    return count === 1 ? name : `${name} × ${count}`;
  });
}

function what(happened: string, labels: readonly string[]): string {
  return labels.length === 0 ? "nothing was in flight" : `${happened}: ${list(labels)}`;
}

function list(names: readonly string[]): string {
  const more = names.length > LISTED ? `, and ${names.length - LISTED} more` : "";
  return names.slice(0, LISTED).map(printable).join(", ") + more;
}
