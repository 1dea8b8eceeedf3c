/**
 * node:cluster: the primary asks its workers to shut down and waits for them. It replaces a worker that ends at any other time.
 *
 *     PORT=8000 node examples/frameworks/cluster.ts
 */
import cluster, { type Worker } from "node:cluster";
import { once } from "node:events";
import { createServer } from "node:http";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { GracefulShutdown } from "../../mod.ts";

const shutdown = new GracefulShutdown({ grace: 10_000 });
if (cluster.isPrimary) {
  for (let i = 0; i < 2; i++) cluster.fork();
  cluster.on("exit", () => shutdown.ready && cluster.fork());
  shutdown.onShutdown(() => Promise.all(Object.values(cluster.workers ?? {}).map(ended)), "workers");
} else {
  const server = createServer(async (request, response) => {
    const ms = request.url?.replace("/wait/", "");
    await pause(Number(ms));
    response.end(`waited ${ms} ms\n`);
  });
  shutdown.attach(server).listen(Number(process.env.PORT ?? 8000));
  process.on("message", (message) => message === "shutdown" && shutdown.request("the primary asked for it"));
}
const { ok } = await shutdown.finished;
process.exit(ok ? 0 : 1);

/**
 * Sends a message, because a second SIGTERM would force a worker that has received one as part of a process group. After
 * disconnect() the primary hands over no further connection, and the worker reads earlier ones before it stops.
 */
async function ended(worker: Worker | undefined): Promise<void> {
  worker?.send("shutdown");
  worker?.disconnect();
  const [code] = worker === undefined ? [0] : await once(worker, "exit");
  if (code !== 0) throw new Error(`Cannot end worker ${worker?.id} cleanly: exit code ${code}`);
}
