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
  const isHandled = runtime() === "node" && state.calls.arrived > 0 && state.servers.size === 0;
  if (!state.started) return; // it is the start-up that was interrupted
  if (!state.used) warnNotAttached("nothing was attached, handled, tracked, deferred or registered");
  else if (isHandled) {
    const risk = "so answers that are still being sent may be cut off";
    warnNotAttached(`its handler answered requests and no server was attached, ${risk}`);
  }
  if (![...state.servers].some((server) => server.isUncounted?.())) return;
  const remedy = "wrap the server's function: fetch: shutdown.handler(app.fetch)";
  const message =
    `Cannot count requests: a server of Deno.serve or Bun.serve was attached without handler(); ${remedy}`;
  emit(message, "INTERLOCK_NOT_COUNTED");
}

function warnNotAttached(problem: string): void {
  emit(`Cannot wait for requests: ${problem}; pass the server to shutdown.attach(server)`, "INTERLOCK_NOT_ATTACHED");
}

/** Warns with the cause for which the shutdown was forced and the labels of the work that it cut. */
export function warnForced(cause: string, labels: readonly string[]): void {
  const what = labels.length === 0 ? "nothing was in flight" : `cut: ${list(labels)}`;
  emit(`Shutdown forced by ${cause}; ${what}`, "INTERLOCK_FORCED");
}

/** Warns where OS signals never arrive: in a worker thread of Node or Bun. */
export function warnInWorker(signals: readonly string[]): void {
  if (signals.length === 0 || runtime() === "deno") return;
  if (builtin<{ isMainThread: boolean }>("worker_threads")?.isMainThread !== false) return;
  const remedy = "pass signals: [], and call request() when the main thread sends a message";
  emit(
    `Cannot receive ${signals.join(", ")}: OS signals do not arrive in a worker thread; ${remedy}`,
    "INTERLOCK_WORKER",
  );
}

/** Prints a line if the process ends before the returned function was called: warnings come too late then. */
export function watchExit(state: ShutdownState): () => void {
  const exiting = () => {
    const labels = state.pending();
    const what = labels.length === 0 ? "nothing was in flight" : `in flight: ${list(labels)}`;
    console.error(`[INTERLOCK_CUT_SHORT] Warning: Process ends during its shutdown; ${what}`);
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
    const what = resources.length === 0 ? "" : ` It is kept by: ${list(counted(resources))}.`;
    const remedy = "Close what keeps it in defer(), or call process.exit(ok ? 0 : 1)";
    warn(`Process is still alive ${EXIT_WITHIN} ms after its shutdown.${what} ${remedy}`, "INTERLOCK_STILL_ALIVE");
  });
}

/** `TCPSocketWrap × 3` for three of them. */
function counted(names: readonly string[]): string[] {
  return [...new Set(names)].map((name) => {
    const count = names.filter((each) => each === name).length;
    return count === 1 ? name : `${name} × ${count}`;
  });
}

function list(names: readonly string[]): string {
  const more = names.length > LISTED ? `, and ${names.length - LISTED} more` : "";
  return names.slice(0, LISTED).map(printable).join(", ") + more;
}
