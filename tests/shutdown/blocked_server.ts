/**
 * A server process of the tests whose event loop is blocked when it is asked to be: its answers are "done", also on
 * connections that came meanwhile.
 *
 *     blocked_server.ts (fetch|node|bare) MS
 *
 * It blocks for MS as soon as stdin has a line. "bare" serves without GracefulShutdown, and closes at SIGTERM as its run-time
 * does it.
 */
import { writeSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import process from "node:process";
import { type BunServerLike, type DenoServerLike, GracefulShutdown } from "../../mod.ts";

interface Globals {
  Deno?: { serve(options: object, handler: (request: Request) => Response | Promise<Response>): DenoServerLike };
  Bun?: { serve(options: object): BunServerLike & { port: number } };
}

const [kind = "", ms = ""] = process.argv.slice(2);
const { Deno, Bun } = globalThis as Globals;
const hostname = "127.0.0.1";
const say = (port: number) => console.log(`listening on ${port}`);

process.stdin.once("data", () => {
  writeSync(1, "blocked\n");
  for (const until = performance.now() + Number(ms); performance.now() < until;);
  writeSync(1, "free\n");
});

const shutdown = new GracefulShutdown(kind === "bare" ? { signals: [] } : {});
const done = () => new Response("done");
if (kind === "node") {
  const server = createServer((_, response) => void response.end("done"));
  shutdown.attach(server).listen(0, hostname, 511, () => say((server.address() as AddressInfo).port));
} else if (Deno !== undefined) {
  const handler = kind === "bare" ? done : shutdown.handler(done);
  const server = Deno.serve({ port: 0, hostname, onListen: ({ port }: { port: number }) => say(port) }, handler);
  if (kind === "bare") process.once("SIGTERM", () => void server.shutdown().then(() => process.exit(0)));
  else shutdown.attach(server);
} else if (Bun !== undefined) {
  const server = Bun.serve({ port: 0, hostname, fetch: kind === "bare" ? done : shutdown.handler(done) });
  if (kind === "bare") process.once("SIGTERM", () => void Promise.resolve(server.stop()).then(() => process.exit(0)));
  else shutdown.attach(server);
  say(server.port);
}
const { ok } = await shutdown.finished;
process.exit(ok ? 0 : 1);
