/**
 * h3 on srvx, on Node. Without `gracefulShutdown: false` srvx closes the server itself at the signal. On Deno and Bun,
 * wrap `app.fetch` by `handler`, and attach `server.deno.server` or `server.bun.server`.
 *
 *     PORT=8000 node examples/frameworks/h3.ts
 */
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { H3 } from "h3";
import { serve } from "srvx";
import { GracefulShutdown, type NodeServerLike } from "../../mod.ts";

const shutdown = new GracefulShutdown({ grace: 10_000 });
const app = new H3().get("/wait/:ms", async (event) => {
  const ms = event.context.params?.ms;
  await pause(Number(ms));
  return `waited ${ms} ms\n`;
});

const port = Number(process.env.PORT ?? 8000);
const server = serve({ fetch: app.fetch, port, gracefulShutdown: false, silent: true });
shutdown.attach(server.node!.server as NodeServerLike);
const { ok } = await shutdown.finished;
process.exit(ok ? 0 : 1);
