/**
 * The service in a node:cluster of two workers. A worker that ends is replaced, until the primary gets SIGTERM itself.
 *
 *     cluster_server.ts --port N
 */
import cluster from "node:cluster";
import { createServer } from "node:http";
import process from "node:process";
import { serverArguments } from "../../../examples/graceful/arguments.ts";
import { nodeListener } from "../../../examples/graceful/node_adapter.ts";
import { service } from "../../../examples/graceful/service.ts";
import { GracefulShutdown } from "../../../mod.ts";

if (cluster.isPrimary) {
  for (let i = 0; i < 2; i++) cluster.fork();
  cluster.on("exit", () => cluster.fork());
  cluster.on("listening", ({ process }) => console.log(`worker ${process.pid} listens`));
} else {
  const { port, hostname } = serverArguments(process.argv.slice(2));
  const shutdown = new GracefulShutdown({ signals: ["SIGTERM"] });
  shutdown.attach(createServer(nodeListener(service(shutdown, () => 0)))).listen({
    port,
    host: hostname,
    backlog: 511,
  });
  const { drained } = await shutdown.finished;
  process.exit(drained ? 0 : 1);
}
