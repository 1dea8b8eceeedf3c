/**
 * SvelteKit with adapter-node: a server of your own around the handler of the build. The build's own server
 * (`node build`) ends itself at the signal.
 *
 *     PORT=8000 node examples/frameworks/sveltekit.ts FOLDER_OF_THE_BUILD
 */
import { createServer, type RequestListener } from "node:http";
import { resolve } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { GracefulShutdown } from "../../mod.ts";

const shutdown = new GracefulShutdown({ grace: 10_000, ready: false });
const file = pathToFileURL(resolve(process.argv[2] ?? "build", "handler.js")).href;
const { handler } = await import(file) as { handler: RequestListener };

shutdown.attach(createServer(handler)).listen(Number(process.env.PORT ?? 8000));
shutdown.ready = true;
const { ok } = await shutdown.finished;
process.exit(ok ? 0 : 1);
