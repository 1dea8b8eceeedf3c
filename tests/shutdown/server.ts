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
import { GracefulShutdown } from "../../mod.ts";
import { Bun, Deno, serveFetch, type Upgrading } from "./platform.ts";

interface EchoSocket {
  readonly readyState: number;
  send(text: string): unknown;
  close(code: number): unknown;
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

/** Answers each message after a moment. `close` then closes in the step in which no answer is left. */
function echo(answer: (id: string, answered: () => void) => void, end: () => unknown) {
  const answers = new Set<Promise<void>>();
  return {
    take(id: string): void {
      accepted.push(id.trim());
      const one = new Promise<void>((answered) =>
        setTimeout(() => answer(id, () => answered(void answers.delete(one))), 50)
      );
      answers.add(one);
    },
    async close(): Promise<void> {
      while (answers.size > 0) await Promise.all(answers);
      end();
    },
  };
}

function upgraded({ url }: { url?: string | undefined }, socket: Duplex): void {
  socket.on("error", () => {}).resume();
  socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n");
  if (url === "/silent") return; // nothing declares it
  const { take, close } = echo((id, answered) => socket.write(id, answered), () => socket.end());
  socket.on("data", (id: Buffer) => socket.writableEnded || take(String(id)));
  shutdown.webSocket(socket, { close });
}

/** A WebSocket of Deno.serve or Bun.serve. Returns what takes its messages. */
function webSocket(socket: EchoSocket): (id: string) => void {
  const send = (id: string, sent: () => void) => {
    socket.send(id);
    sent();
  };
  const { take, close } = echo(send, () => socket.close(1001));
  shutdown.webSocket(socket, { close });
  return (id) => socket.readyState === 1 && take(id);
}

if (kind === "node" || kind === "http2") {
  const create = kind === "node" ? createServer : createHttp2Server as unknown as typeof createServer;
  const server: Server = shutdown.attach(create(nodeListener(handler)));
  server.on("upgrade", upgraded);
  server.listen({ port, host: hostname, backlog: 511 }, () => say((server.address() as AddressInfo).port));
} else if (Deno !== undefined) {
  const serveOrUpgrade = (request: Request) => {
    if (request.headers.get("upgrade") !== "websocket") return handler(request);
    const { socket, response } = Deno!.upgradeWebSocket(request);
    const take = webSocket(socket);
    socket.onmessage = ({ data }) => take(data);
    return response;
  };
  say(serveFetch(shutdown, serveOrUpgrade, { port, hostname, reusePort, signal: shutdown.forced }));
} else if (Bun !== undefined) {
  const takes = new WeakMap<EchoSocket, (id: string) => void>();
  const websocket = {
    open: (socket: EchoSocket) => void takes.set(socket, webSocket(socket)),
    message: (socket: EchoSocket, id: string) => takes.get(socket)!(id),
  };
  const serveOrUpgrade = (request: Request, server: Upgrading) =>
    request.headers.get("upgrade") !== "websocket"
      ? handler(request)
      : server.upgrade(request)
      ? undefined
      : new Response("no WebSocket", { status: 400 });
  say(serveFetch(shutdown, serveOrUpgrade, { port, hostname, reusePort, idleTimeout: 0, websocket }));
} else {
  throw new Error(`Cannot serve ${kind}: Node has no fetch-style server`);
}

const report = await shutdown.finished;
const reason = String(report.reason);
writeFileSync(file, JSON.stringify({ ...report, reason, errors: report.errors.map(String), accepted }));
process.exit(0);
