/**
 * Next with a custom server: attach that server; `app.close()` ends resources of the pages, so it comes after the last request.
 *
 *     NODE_ENV=production PORT=8000 node examples/frameworks/next.ts FOLDER_OF_THE_APP
 */
import { createServer } from "node:http";
import process from "node:process";
import next from "next";
import { GracefulShutdown } from "../../mod.ts";

const shutdown = new GracefulShutdown({ grace: 10_000, ready: false });
const app = next({ dev: process.env.NODE_ENV === "development", dir: process.argv[2] ?? "." });
await app.prepare();
const handle = app.getRequestHandler();

shutdown.attach(createServer((request, response) => handle(request, response))).listen(
  Number(process.env.PORT ?? 8000),
);
shutdown.defer(() => app.close(), "next");
shutdown.ready = true;
const { ok } = await shutdown.finished;
process.exit(ok ? 0 : 1);
