/** The servers of Deno and Bun, as far as the tests use them, so that every run-time's tests can be checked in any other. */
import type { BunServerLike, DenoServerLike, GracefulShutdown } from "../../mod.ts";

/** A handler, with what the run-time passes beside the request. */
export type FetchHandler = (
  request: Request,
  server: Upgrading,
) => Response | undefined | Promise<Response | undefined>;

/** The server of Bun.serve, as its handler gets it. */
export interface Upgrading {
  upgrade(request: Request, options?: { data: object }): boolean;
}

interface Platform {
  Deno?: {
    serve(
      options: object,
      handler: (request: Request, info: never) => unknown,
    ): DenoServerLike & { addr: { port: number } };
    upgradeWebSocket(request: Request): { socket: WebSocket; response: Response };
  };
  Bun?: { serve(options: object): BunServerLike & { port: number } };
}

export const { Deno, Bun } = globalThis as Platform;

/** Starts the run-time's own server with this handler, attached. Returns its port. */
export function serveFetch(shutdown: GracefulShutdown, handler: FetchHandler, options: object = {}): number {
  const all = { port: 0, hostname: "127.0.0.1", onListen() {}, ...options };
  const fetch = shutdown.handler(handler);
  if (Bun !== undefined) return shutdown.attach(Bun.serve({ ...all, fetch })).port;
  if (Deno !== undefined) return shutdown.attach(Deno.serve(all, fetch)).addr.port;
  throw new Error("Cannot serve: Node has no fetch-style server");
}
