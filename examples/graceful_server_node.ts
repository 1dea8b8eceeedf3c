/**
 * A service on Node, from version 23.6 on, that loses no request when it shuts down.
 *
 *     node examples/graceful_server_node.ts --port 8000
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import process from "node:process";
import { GracefulShutdown } from "../mod.ts";
import { argumentsOrExit, welcome } from "./graceful/arguments.ts";
import { nodeListener } from "./graceful/node_adapter.ts";
import { exitIfTaken } from "./graceful/listening.ts";
import { service } from "./graceful/service.ts";

const { port, hostname, grace, delay } = argumentsOrExit(process.argv.slice(2), process.exit);
const shutdown = new GracefulShutdown({ grace, delay });
let bound = port; // the actual port, if any free port was requested

const server = shutdown.attach(createServer(nodeListener(service(shutdown, () => bound))));
server.on("error", (error) => exitIfTaken(error, port, process.exit));
server.listen(port, hostname, () => {
  bound = (server.address() as AddressInfo).port;
  console.log(welcome(`http://${hostname}:${bound}/`, process.pid));
});

// A resource to close after the last request, such as a database.
shutdown.defer(() => console.log("clean-up: the database is closed"), "database");

const { ok, drained, remaining, elapsed, errors } = await shutdown.finished;
console.log(`${drained ? "drained" : "forced"} after ${Math.round(elapsed)} ms`, { remaining, errors });
process.exit(ok ? 0 : 1);
