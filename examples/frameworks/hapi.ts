/**
 * hapi 21: attach its `listener`. Its stop() cuts requests after 5 s, so it comes after the last request: `defer`.
 *
 *     PORT=8000 node examples/frameworks/hapi.ts
 */
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { server as hapi } from "@hapi/hapi";
import { GracefulShutdown } from "../../mod.ts";

const shutdown = new GracefulShutdown({ grace: 10_000, ready: false });
const server = hapi({ port: Number(process.env.PORT ?? 8000) });
server.route({
  method: "GET",
  path: "/wait/{ms}",
  handler: async ({ params }) => {
    await pause(Number(params.ms));
    return `waited ${params.ms} ms\n`;
  },
});

await server.start();
shutdown.attach(server.listener);
shutdown.defer(() => server.stop(), "hapi");
shutdown.ready = true;
const { ok } = await shutdown.finished;
process.exit(ok ? 0 : 1);
