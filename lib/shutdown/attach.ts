/**
 * Recognizes servers by structure, so that no run-time's own types or modules are needed.
 *
 * @module
 */
import { checkFunction, checkOptions, must } from "../internal/check.ts";
import { bunAbilities, type BunServerLike, denoAbilities, type DenoServerLike, FetchServer } from "./fetch/server.ts";
import { type NodeRequestLike, NodeServer, type NodeServerLike } from "./node/server.ts";
import type { AttachedServer, ShutdownState } from "./shutdown_state.ts";

/** A server that {@linkcode GracefulShutdown.attach} takes: of node:http(s), node:http2, Deno.serve or Bun.serve. */
export type ServerLike = NodeServerLike | DenoServerLike | BunServerLike;

/** How {@linkcode GracefulShutdown.attach} treats the server. */
export interface AttachOptions {
  /**
   * Names a request in {@linkcode ShutdownReport.remaining}. Default: method and path. For the node modules only: with
   * Deno.serve and Bun.serve it is an option of {@linkcode GracefulShutdown.handler}.
   */
  readonly label?: ((request: NodeRequestLike) => string) | undefined;
}

const RULE = "be a server of node:http, node:http2, Deno.serve or Bun.serve";

/** The shutdown that each attached server belongs to. */
const owners = new WeakMap<object, ShutdownState>();

/** Checks the arguments of attach(). */
export function checkAttach(state: ShutdownState, server: unknown, options: AttachOptions | undefined): void {
  if (!isServer(server)) must(false, "server", `${RULE} (${hint(server)})`, server);
  checkOptions(options);
  if (options?.label !== undefined) checkFunction(options.label, "label");
  const owner = owners.get(server);
  must(owner === undefined || owner === state, "server", "belong to one GracefulShutdown only", server);
}

/** Ties the server to `state`. */
export function attachTo(state: ShutdownState, server: ServerLike, label: AttachOptions["label"]): void {
  owners.set(server, state);
  state.atEnd.push(() => owners.delete(server));
  const attached = attachedServer(state, server, label);
  state.servers.push(attached);
  if (state.phase !== "serving") attached.begin();
  if (state.listenersClosed) attached.stopListening();
}

function attachedServer(state: ShutdownState, server: ServerLike, label: AttachOptions["label"]): AttachedServer {
  if ("emit" in server) return new NodeServer(state, server, label);
  return new FetchServer(state, "shutdown" in server ? denoAbilities(server) : bunAbilities(server));
}

/** Whether it is attached already. */
export function isAttached(server: ServerLike): boolean {
  return owners.has(server);
}

function isServer(value: unknown): value is ServerLike {
  if (typeof value !== "object" || value === null) return false;
  if (has(value, "emit")) {
    return has(value, "close") && (has(value, "closeAllConnections") || has(value, "updateSettings"));
  }
  // The apps of some frameworks can be stopped, too.
  return (has(value, "shutdown") || has(value, "stop")) && !has(value, "listen") && !isObject(value, "listener");
}

/** How to mend a call with something else. */
function hint(value: unknown): string {
  if (typeof value === "function") return "pass the server that app.listen returns";
  if (typeof value !== "object" || value === null) return "pass the server itself";
  if (has(value, "then")) return "await the promise, and pass the server";
  for (const name of ["server", "listener", "httpServer"]) {
    if (isObject(value, name)) return `pass its property ${name}`;
  }
  if (has(value, "getConnections")) return "count the connections of a server of node:net or node:tls by track()";
  if (has(value, "handleUpgrade")) return "pass the server of node:http that it runs on";
  if (has(value, "listen")) return "pass the server that app.listen returns";
  if (has(value, "fetch")) return "wrap its fetch by handler(), and pass the server that serves it";
  return "pass the server itself";
}

function has(value: object, method: string): boolean {
  return typeof (value as Record<string, unknown>)[method] === "function";
}

function isObject(value: object, name: string): boolean {
  const property = (value as Record<string, unknown>)[name];
  return typeof property === "object" && property !== null;
}
