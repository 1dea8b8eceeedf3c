/**
 * Process warnings about uses that look right and protect nothing.
 *
 * @module
 */
import type { ShutdownState } from "./shutdown_state.ts";

interface Process {
  readonly versions?: { readonly node?: string; readonly deno?: string; readonly bun?: string };
  emitWarning?(message: string, options: { code: string }): void;
}

/** Emits a process warning, where there is a process. */
export function warn(message: string, code: string): void {
  currentProcess()?.emitWarning?.(message, { code });
}

/** Warns when a shutdown begins that nothing, or not enough, was tied to. */
export function warnIfNotAttached(state: ShutdownState): void {
  const problem = state.used
    ? isNode() && state.handled.count > 0 && state.servers.length === 0 &&
      "its handler answered requests and no server was attached, so answers that are still being sent may be cut off"
    : "nothing was attached, handled, tracked, deferred or registered";
  if (problem === false) return;
  warn(`Cannot wait for requests: ${problem}; pass the server to shutdown.attach(server)`, "INTERLOCK_NOT_ATTACHED");
}

/** Deno and Bun have the versions of Node as well. */
function isNode(): boolean {
  const { node, deno, bun } = currentProcess()?.versions ?? {};
  return node !== undefined && deno === undefined && bun === undefined;
}

function currentProcess(): Process | undefined {
  return (globalThis as { process?: Process }).process;
}
