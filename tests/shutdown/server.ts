/**
 * A server process of the tests: the example's service on any of the three run-times, either on their own server or on
 * node:http or node:http2. It writes down the id of every request that reached the service, for comparing with what clients saw.
 *
 *     server.ts (fetch|node|http2) REPORT_FILE [--port N] [--grace MS] [--delay MS] [--reuse-port]
 */
import { writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import process from "node:process";
import { serverArguments } from "../../examples/graceful/arguments.ts";
import { nodeListener } from "../../examples/graceful/node_adapter.ts";
import { service } from "../../examples/graceful/service.ts";
import { GracefulShutdown } from "../../mod.ts";
import { serveFetch } from "./platform.ts";

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

if (kind === "node" || kind === "http2") {
  const create = kind === "node" ? createServer : createHttp2Server as unknown as typeof createServer;
  const server: Server = shutdown.attach(create(nodeListener(handler)));
  server.listen({ port, host: hostname, backlog: 511 }, () => say((server.address() as AddressInfo).port));
} else {
  say(serveFetch(shutdown, handler, { port, hostname, reusePort, idleTimeout: 0, signal: shutdown.forced }));
}

const report = await shutdown.finished;
const reason = String(report.reason);
writeFileSync(file, JSON.stringify({ ...report, reason, errors: report.errors.map(String), accepted }));
process.exit(0);
