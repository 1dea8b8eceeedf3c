/**
 * Which kind of server is it? Told by structure, so that no run-time's own types or modules are needed.
 *
 * @module
 */
import { checkFunction, checkOptions, must } from "../internal/check.ts";
import { bunAbilities, type BunServerLike, denoAbilities, type DenoServerLike, FetchServer } from "./fetch/server.ts";
import { type NodeRequestLike, NodeServer, type NodeServerLike } from "./node/server.ts";
import type { AttachedServer, ShutdownState } from "./shutdown_state.ts";

/** A server that {@linkcode GracefulShutdown.attach} takes: of node:http(s), of Deno.serve or of Bun.serve. */
export type ServerLike = NodeServerLike | DenoServerLike | BunServerLike;

/** How {@linkcode GracefulShutdown.attach} treats the server. */
export interface AttachOptions {
  /**
   * How a request is called in {@linkcode ShutdownReport.remaining}; method and path unless said. For node:http(s) only:
   * for the others it is said to {@linkcode GracefulShutdown.handler}.
   */
  readonly label?: ((request: NodeRequestLike) => string) | undefined;
}

/** Arguments of attach, checked. */
export function checkAttach(server: unknown, options: AttachOptions | undefined): void {
  const kind = server as Partial<NodeServerLike & DenoServerLike & BunServerLike> | null | undefined;
  const known = typeof kind?.shutdown === "function" || typeof kind?.stop === "function" ||
    (typeof kind?.close === "function" && typeof kind.emit === "function");
  // Requests of HTTP/2 share a connection, which is not counted here.
  const http2 = typeof (server as { updateSettings?: unknown } | null | undefined)?.updateSettings === "function";
  must(known && !http2, "server", "be a server of node:http, Deno.serve or Bun.serve", server);
  checkOptions(options);
  if (options?.label !== undefined) checkFunction(options.label, "label");
}

/** The body that treats such a server. */
export function attached(state: ShutdownState, server: ServerLike, options: AttachOptions | undefined): AttachedServer {
  if ("emit" in server) return new NodeServer(state, server, options?.label);
  return new FetchServer(state, "shutdown" in server ? denoAbilities(server) : bunAbilities(server));
}
