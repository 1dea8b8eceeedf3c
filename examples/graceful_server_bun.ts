/**
 * A service on Bun that loses no request when it shuts down.
 *
 *     bun examples/graceful_server_bun.ts --port 8000
 */
import process from "node:process";
import { type BunServerLike, GracefulShutdown } from "../mod.ts";
import { argumentsOrExit, welcome } from "./graceful/arguments.ts";
import { listenOrExit } from "./graceful/listening.ts";
import { service } from "./graceful/service.ts";

// Not needed with @types/bun.
declare const Bun: { serve(options: object): BunServerLike & { port: number } };

const { port, hostname, grace, delay } = argumentsOrExit(process.argv.slice(2), process.exit);
const shutdown = new GracefulShutdown({ grace, delay });
let bound = port; // the actual port, if any free port was requested

const fetch = shutdown.handler(service(shutdown, () => bound));
// The page's events may be silent for longer than Bun's default idleTimeout.
const listen = () => Bun.serve({ port, hostname, idleTimeout: 0, fetch });
const server = shutdown.attach(listenOrExit(port, process.exit, listen));
bound = server.port;
console.log(welcome(`http://${hostname}:${bound}/`, process.pid));

// A resource to close after the last request, such as a database.
shutdown.defer(() => console.log("clean-up: the database is closed"), "database");

const { ok, drained, remaining, elapsed, errors } = await shutdown.finished;
console.log(`${drained ? "drained" : "forced"} after ${Math.round(elapsed)} ms`, { remaining, errors });
process.exit(ok ? 0 : 1);
