/**
 * A hello-world server, bare or with one of the packages that end it gracefully, each set up as its README shows.
 *
 *     server.ts node|fetch CONTENDER
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import process from "node:process";
import { type BunServerLike, type DenoServerLike, GracefulShutdown } from "../../mod.ts";

/** Only the package that is measured is loaded. */
const NODE: Record<string, (server: Server) => unknown> = {
  "a bare server": () => {},
  "interlock": (server) => new GracefulShutdown().attach(server),
  "http-graceful-shutdown": async (server) => (await import("http-graceful-shutdown")).default(server),
  "@godaddy/terminus": async (server) => (await import("@godaddy/terminus")).createTerminus(server, {}),
  "http-terminator": async (server) => (await import("http-terminator")).createHttpTerminator({ server }),
  "stoppable": async (server) => (await import("stoppable")).default(server),
  "lightship": async (server) => {
    const lightship = await (await import("lightship")).createLightship();
    lightship.registerShutdownHandler(() => void server.close());
  },
};

type Handler = (request: Request, info: never) => Response | Promise<Response>;
interface Platform {
  Deno?: { serve(options: object, handler: Handler): DenoServerLike & { addr: { port: number } } };
  Bun?: { serve(options: object): BunServerLike & { port: number } };
}
const { Deno, Bun } = globalThis as Platform;
const hello: Handler = () => new Response("hello\n");

/** The floor of every handler that returns a promise. */
const asynchronous: Handler = async (request, info) => await hello(request, info);

function fetchServer(name: string): number {
  const shutdown = name === "interlock" ? new GracefulShutdown() : undefined;
  const fetch = shutdown?.handler(hello) ?? (name === "an async function around it" ? asynchronous : hello);
  const hostname = "127.0.0.1";
  if (Bun !== undefined) {
    const server = Bun.serve({ port: 0, hostname, fetch });
    shutdown?.attach(server);
    return server.port;
  }
  const server = Deno!.serve({ port: 0, hostname, onListen() {}, signal: shutdown?.forced }, fetch);
  shutdown?.attach(server);
  return server.addr.port;
}

async function nodeServer(name: string): Promise<number> {
  const server = createServer((_, response) => void response.end("hello\n"));
  server.keepAliveTimeout = 600_000;
  await NODE[name]!(server);
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return (server.address() as AddressInfo).port;
}

const [kind, name = ""] = process.argv.slice(2);
console.log(`listening on ${kind === "fetch" ? fetchServer(name) : await nodeServer(name)}`);

// For the heap of idle connections: one line in, one line out.
process.stdin.on("data", () => {
  const { gc } = globalThis as { gc?: () => void };
  for (let i = 0; i < 3; i++) gc?.();
  console.log(`heap ${process.memoryUsage().heapUsed}`);
});
