/**
 * A service on Deno that loses no request when it shuts down.
 *
 *     deno run --allow-net=127.0.0.1:8000 examples/graceful_server.ts --port 8000
 */
import { GracefulShutdown } from "../mod.ts";
import { argumentsOrExit, welcome } from "./graceful/arguments.ts";
import { listenOrExit } from "./graceful/listening.ts";
import { service } from "./graceful/service.ts";

const { port, hostname, grace, delay } = argumentsOrExit(Deno.args, Deno.exit);
const shutdown = new GracefulShutdown({ grace, delay });
let bound = port; // the actual port, if any free port was requested

const options = {
  port,
  hostname,
  // Deno's server can be closed by force only through its signal.
  signal: shutdown.forced,
  onListen: ({ port }: { port: number }) => {
    bound = port;
    console.log(welcome(`http://${hostname}:${port}/`, Deno.pid));
  },
};
const handler = shutdown.handler(service(shutdown, () => bound));
shutdown.attach(listenOrExit(port, Deno.exit, () => Deno.serve(options, handler)));

// A resource to close after the last request, such as a database.
shutdown.defer(() => console.log("clean-up: the database is closed"), "database");

const { ok, drained, remaining, elapsed, errors } = await shutdown.finished;
console.log(`${drained ? "drained" : "forced"} after ${Math.round(elapsed)} ms`, { remaining, errors });
Deno.exit(ok ? 0 : 1);
