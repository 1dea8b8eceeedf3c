/**
 * Process warnings about misconfigured or forced shutdowns.
 *
 * @module
 */
import { printable } from "../internal/check.ts";
import { builtin, currentProcess, ifStillAlive, runtime, warn } from "../internal/platform.ts";
import { onProcess } from "./os_signals.ts";
import type { ShutdownState } from "./shutdown_state.ts";

/** Time in ms for a process to end after its shutdown. */
const EXIT_WITHIN = 5_000;
/** Maximum number of names in a message. */
const LISTED = 10;

/** Warns if a shutdown begins without attached work, or with too little of it. */
export function warnIfNotTied(state: ShutdownState): void {
  if (!state.started) return; // the signal has interrupted the start-up
  if (!state.hasRegistered) warnNotAttached("nothing was attached, handled, tracked, deferred or registered");
  else if (runtime() === "node" && state.handlerCalls > 0 && state.servers.size === 0) {
    warnNotAttached("its handler answered requests and no server was attached");
  }
  if (![...state.servers.values()].some((server) => server.isUncounted?.())) return;
  warn("Cannot count requests; pass the server fetch: shutdown.handler(app.fetch)", "INTERLOCK_NOT_COUNTED");
}

function warnNotAttached(problem: string): void {
  warn(`Cannot wait for requests: ${problem}; call shutdown.attach(server)`, "INTERLOCK_NOT_ATTACHED");
}

/** Warns of a forced shutdown, with its cause and the labels of the work that was cut. */
export function warnForced(cause: string, labels: readonly string[]): void {
  warn(`Shutdown forced by ${cause}; ${workText("cut", labels)}`, "INTERLOCK_FORCED");
}

/** Warns in a worker thread of Node or Bun, where OS signals never arrive. */
export function warnInWorker(signals: readonly string[]): void {
  if (signals.length === 0 || runtime() === "deno") return;
  if (builtin<{ isMainThread: boolean }>("worker_threads")?.isMainThread !== false) return;
  const remedy = "pass signals: [], and call request() on a message of the main thread";
  warn(`Cannot receive ${signals.join(", ")} in a worker thread; ${remedy}`, "INTERLOCK_WORKER");
}

/** Prints a line if the process ends before the returned function is called, when warnings would come too late. */
export function watchExit(state: ShutdownState): () => void {
  return onProcess("exit", () => {
    const work = workText("in flight", state.pendingLabels());
    console.error(`[INTERLOCK_CUT_SHORT] Warning: Process ends during its shutdown; ${work}`);
  });
}

/** The number of shutdowns created so far, and of those that are not over. */
let created = 0, openCount = 0;

/** Called for each new shutdown. */
export function countShutdown(): void {
  created++;
  openCount++;
}

/** Called for a shutdown that was disposed of. */
export function uncountShutdown(): void {
  openCount--;
}

/** Called once for each shutdown that is over. Warns if the process does not end after the last one. */
export function warnIfItStays(): void {
  if (--openCount > 0) return; // other shutdowns of the process are still open
  const createdThen = created;
  ifStillAlive(EXIT_WITHIN, () => {
    if (created !== createdThen) return; // the process has moved on, for example to the next test
    const resources = currentProcess()?.getActiveResourcesInfo?.() ?? [];
    const keepers = resources.length === 0 ? "" : ` (kept by ${list([...new Set(resources)])})`;
    const remedy = "close open resources in defer(), or call process.exit(ok ? 0 : 1)";
    const message = `Process is still alive ${EXIT_WITHIN} ms after its shutdown${keepers}; ${remedy}`;
    warn(message, "INTERLOCK_STILL_ALIVE");
  });
}

function workText(heading: string, labels: readonly string[]): string {
  return labels.length === 0 ? "nothing was in flight" : `${heading}: ${list(labels)}`;
}

function list(names: readonly string[]): string {
  const more = names.length > LISTED ? `, and ${names.length - LISTED} more` : "";
  return names.slice(0, LISTED).map(printable).join(", ") + more;
}
