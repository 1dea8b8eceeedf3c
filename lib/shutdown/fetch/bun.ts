/**
 * Peculiarities of Bun (1.4). Bun.serve reports a sent response only when asked, and closes silent connections only by
 * force; its WebSockets have callbacks in place of events. node:http closes idle connections in an inner server.
 *
 * @module
 */
import type { HttpServer } from "../node/shapes.ts";

/** The part of Bun.serve's server that is used. */
export interface BunServerLike {
  /** Stops listening, and closes every connection on request; resolves when the last connection is closed. */
  stop(closeActiveConnections?: boolean): Promise<void> | void;
  /** Number of requests in flight. */
  readonly pendingRequests?: number;
  /** Number of open WebSockets. */
  readonly pendingWebSockets?: number;
}

/** Describes a server of Bun.serve. */
export function bunAbilities(
  server: BunServerLike,
): { stop(force: boolean): Promise<void> | void; isQuiet(): boolean } {
  return {
    stop: (force) => server.stop(force),
    isQuiet: () => server.pendingRequests === 0 && server.pendingWebSockets === 0,
  };
}

/** The second argument of a Bun.serve handler. */
export interface BunInfo {
  readonly pendingRequests: number;
  /** undefined for a Unix socket. `port` shows this too, but takes half a microsecond to read. */
  readonly hostname: string | undefined;
  /** null once the request is over, and always for a Unix socket. */
  requestIP(request: Request): unknown;
}

/** Whether this is the second argument of a Bun.serve handler. */
export function isBunInfo(info: unknown): info is BunInfo {
  return typeof (info as Partial<BunInfo> | null | undefined)?.requestIP === "function";
}

/** Whether this is a ServerWebSocket, which has a state, and a callback in place of events. */
export function isServerWebSocket(
  socket: { readonly addEventListener?: unknown; readonly readyState?: number },
): boolean {
  return socket.addEventListener === undefined && socket.readyState !== undefined;
}

/** The server inside of a node:http server. */
export function innerServer(server: object): Partial<HttpServer> | undefined {
  return (server as { [inner: symbol]: Partial<HttpServer> | undefined })[Symbol.for("::bunternal::")];
}

/** A request with a response. */
interface Answered {
  readonly request: Request;
  /** Called when the response is sent. */
  end(): void;
}

/** Calls with a response, until Bun reports the response as sent. */
export class BunAnswers {
  readonly #sending = new Map<Answered, BunInfo>();
  // Bounds #sending to a constant plus twice the number of unsent responses at the last sweep.
  #sweepAt = 64;

  add(call: Answered, server: BunInfo): void {
    // This call is pending itself. If no other is, all earlier responses are sent, without asking for each.
    if (server.pendingRequests <= 1) this.sweep(server);
    this.#sending.set(call, server);
    if (this.#sending.size >= this.#sweepAt) this.sweep();
  }

  /**
   * Ends the calls with sent responses: all calls of `quiet`, which has no other pending request; for others it asks
   * Bun.
   */
  sweep(quiet?: BunInfo): void {
    for (const [call, server] of this.#sending) {
      const isSent = quiet === undefined ? server.requestIP(call.request) === null : server === quiet;
      if (!isSent) continue;
      this.#sending.delete(call);
      call.end();
    }
    if (quiet === undefined) this.#sweepAt = 2 * this.#sending.size + 64;
  }
}
