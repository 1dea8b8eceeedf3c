/**
 * The service on node:http, ended by one of the packages that do that, each set up as its README shows. Writes down every
 * request that reached the service, as server.ts does.
 *
 *     peer_server.ts CONTENDER REPORT_FILE [--port N]
 */
import { renameSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import process from "node:process";
import { createTerminus } from "@godaddy/terminus";
import gracefulShutdown from "http-graceful-shutdown";
import { createHttpTerminator } from "http-terminator";
import { createLightship } from "lightship";
import stoppable from "stoppable";
import { serverArguments } from "../../../examples/graceful/arguments.ts";
import { nodeListener } from "../../../examples/graceful/node_adapter.ts";
import { service } from "../../../examples/graceful/service.ts";
import { GracefulShutdown } from "../../../mod.ts";

const TIMEOUT = 9_000;
const exit = () => process.exit(0);

const setups: Record<string, (server: Server) => unknown> = {
  "http-graceful-shutdown": (server) => gracefulShutdown(server, { timeout: TIMEOUT }),
  "http-terminator": (server) => {
    const terminator = createHttpTerminator({ server, gracefulTerminationTimeout: TIMEOUT });
    process.on("SIGTERM", () => void terminator.terminate().then(exit));
  },
  "@godaddy/terminus": (server) => createTerminus(server, { signal: "SIGTERM", timeout: TIMEOUT }),
  "stoppable": (server) => {
    const stopped = stoppable(server, TIMEOUT);
    process.on("SIGTERM", () => stopped.stop(exit));
  },
  "lightship": async (server) => {
    const lightship = await createLightship({ shutdownHandlerTimeout: TIMEOUT });
    lightship.registerShutdownHandler(() => new Promise<void>((resolve) => server.close(() => resolve())));
    lightship.signalReady();
  },
  "server.close": (server) => process.on("SIGTERM", () => server.close(exit)),
};

const [name = "", file = "", ...rest] = process.argv.slice(2);
const { port, hostname } = serverArguments(rest);
const accepted: string[] = [];
const serve = service(new GracefulShutdown({ signals: [] }), () => 0); // the service's page shows it; it never begins
const server = createServer(nodeListener((request) => {
  accepted.push(new URL(request.url).searchParams.get("id") ?? "");
  return serve(request);
}));
const writeDown = () => {
  writeFileSync(`${file}.new`, JSON.stringify({ accepted }));
  renameSync(`${file}.new`, file); // whole, whenever SIGKILL comes
};
process.on("exit", writeDown);
// A server that has to be killed has no other chance.
process.on("SIGTERM", () => setTimeout(() => setInterval(writeDown, 10), 9_300));
await setups[name]!(server);
server.listen({ port, host: hostname, backlog: 511 }, () => {
  console.log(`listening on ${(server.address() as AddressInfo).port}`);
});
