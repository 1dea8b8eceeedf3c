/**
 * A server process of the tests whose event loop is blocked when it is asked to be: its answers are "done", also on
 * connections that came meanwhile.
 *
 *     blocked_server.ts (fetch|node) MS
 *
 * It blocks for MS as soon as stdin has a line.
 */
import { writeSync } from "node:fs";
import { createServer } from "node:http";
import process from "node:process";
import { GracefulShutdown } from "../../mod.ts";
import { listen } from "./client.ts";
import { serveFetch } from "./platform.ts";

const [kind = "", ms = ""] = process.argv.slice(2);

process.stdin.once("data", () => {
  writeSync(1, "blocked\n");
  for (const until = performance.now() + Number(ms); performance.now() < until;);
  writeSync(1, "free\n");
});

const shutdown = new GracefulShutdown();
const server = createServer((_, response) => void response.end("done"));
const port = kind === "node" ? await listen(shutdown.attach(server)) : serveFetch(shutdown, () => new Response("done"));
console.log(`listening on ${port}`);
const { ok } = await shutdown.finished;
process.exit(ok ? 0 : 1);
