/**
 * Peculiarities of Bun (1.4). Bun.serve reports a sent response only when asked, and closes silent connections only by
 * force; its WebSockets have callbacks in place of events. node:http closes idle connections in an inner server, and
 * publishes no connections by diagnostics_channel.
 *
 * @module
 */
import { builtin } from "../../internal/platform.ts";
import type { HttpServer } from "../node/shapes.ts";
import { override } from "../override.ts";

/** The part of Bun.serve's server that is used. */
export interface BunServerLike {
  /** Stops listening, and closes every connection on request; resolves when the last connection is closed. */
  stop(closeActiveConnections?: boolean): Promise<void> | void;
  /** Number of requests in flight. */
  readonly pendingRequests?: number;
  /** Number of open WebSockets. */
  readonly pendingWebSockets?: number;
}

/** The second argument of a Bun.serve handler. */
interface BunInfo {
  /** undefined for a Unix socket. `port` shows this too, but takes half a microsecond to read. */
  readonly hostname: string | undefined;
  /** null once the request is over, and always for a Unix socket. */
  requestIP(request: Request): unknown;
}

/**
 * Whether this is the second argument of a Bun.serve handler that reports the end of a response, if only when asked.
 */
export function reportsEnd(info: unknown): info is BunInfo {
  const { requestIP, hostname } = Object(info) as Partial<BunInfo>;
  return typeof requestIP === "function" && hostname !== undefined;
}

/** Whether Bun has sent the response to this request. */
export function isSent(request: Request, info: unknown): boolean {
  return reportsEnd(info) && info.requestIP(request) === null;
}

/** Whether this is a ServerWebSocket, which has a state, and a callback in place of events. */
export function isServerWebSocket(socket: object): boolean {
  return !("addEventListener" in socket) && "readyState" in socket;
}

/** The server inside of a node:http server. */
export function innerServer(server: object): Partial<HttpServer> | undefined {
  return (server as { [inner: symbol]: Partial<HttpServer> | undefined })[Symbol.for("::bunternal::")];
}

const connectionListeners = new Set<(server: HttpServer) => void>();

/** Restores the replaced `emit`. */
let restore = () => {};

/** Calls `listener` with the server of each new connection of node:http. Returns a function that ends this. */
export function onBunConnection(listener: (server: HttpServer) => void): () => void {
  if (connectionListeners.size === 0) {
    const { prototype } = builtin<{ Server: { prototype: HttpServer } }>("http")!.Server;
    const { emit } = prototype;
    restore = override(prototype, "emit", function (this: HttpServer, event: string, ...args: unknown[]): boolean {
      if (event === "connection") { for (const each of connectionListeners) each(this); }
      return emit.call(this, event, ...args);
    });
  }
  connectionListeners.add(listener);
  return () => {
    if (connectionListeners.delete(listener) && connectionListeners.size === 0) restore();
  };
}
