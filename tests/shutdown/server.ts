/**
 * A server process of the tests: the example's service on any of the three run-times, either on their own server or on
 * node:http or node:http2. It writes down the id of every request that reached the service, for comparing with what clients saw.
 *
 *     server.ts (fetch|node|http2) REPORT_FILE [--port N] [--grace MS] [--delay MS] [--reuse-port]
 */
import type { Buffer } from "node:buffer";
import { writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import process from "node:process";
import type { Duplex } from "node:stream";
import { serverArguments } from "../../examples/graceful/arguments.ts";
import { nodeListener } from "../../examples/graceful/node_adapter.ts";
import { service } from "../../examples/graceful/service.ts";
import { type BunServerLike, type DenoServerLike, GracefulShutdown } from "../../mod.ts";

interface Globals {
  Deno?: { serve(options: object, handler: (request: Request) => Promise<Response>): DenoServerLike };
  Bun?: { serve(options: object): BunServerLike & { port: number } };
}

const [kind = "", file = "", ...rest] = process.argv.slice(2);
const reusePort = rest.includes("--reuse-port");
const { port, hostname, grace, delay } = serverArguments(rest.filter((argument) => argument !== "--reuse-port"));
const shutdown = new GracefulShutdown({ grace, delay });
const serve = service(shutdown, () => 0);
const accepted: string[] = [];

function handler(request: Request): Promise<Response> {
  accepted.push(new URL(request.url).searchParams.get("id") ?? "");
  return serve(request);
}

function say(port: number): void {
  console.log(`listening on ${port}`);
}

/** Answers each message after a moment, those that it has accepted before the shutdown closes the connection, too. */
function upgraded({ url }: { url?: string | undefined }, socket: Duplex): void {
  socket.on("error", () => {}).resume();
  socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n");
  if (url === "/silent") return; // nothing declares it
  const answers = new Set<Promise<void>>();
  socket.on("data", (id: Buffer) => {
    if (socket.writableEnded) return;
    accepted.push(String(id).trim());
    const answer = new Promise<void>((answered) =>
      setTimeout(() => socket.write(id, () => answered(void answers.delete(answer))), 50)
    );
    answers.add(answer);
  });
  shutdown.webSocket(socket, {
    close: async () => {
      while (answers.size > 0) await Promise.all(answers);
      socket.end();
    },
  });
}

const { Deno, Bun } = globalThis as Globals;
if (kind === "node" || kind === "http2") {
  const create = kind === "node" ? createServer : createHttp2Server as unknown as typeof createServer;
  const server: Server = shutdown.attach(create(nodeListener(handler)));
  server.on("upgrade", upgraded);
  server.listen({ port, host: hostname, backlog: 511 }, () => say((server.address() as AddressInfo).port));
} else if (Deno !== undefined) {
  const onListen = ({ port }: { port: number }) => say(port);
  shutdown.attach(
    Deno.serve({ port, hostname, reusePort, signal: shutdown.forced, onListen }, shutdown.handler(handler)),
  );
} else if (Bun !== undefined) {
  say(shutdown.attach(Bun.serve({ port, hostname, reusePort, idleTimeout: 0, fetch: shutdown.handler(handler) })).port);
} else {
  throw new Error(`Cannot serve ${kind}: Node has no fetch-style server`);
}

const report = await shutdown.finished;
const reason = String(report.reason);
writeFileSync(file, JSON.stringify({ ...report, reason, errors: report.errors.map(String), accepted }));
process.exit(0);
