/**
 * srvx on Bun: `handler` counts the requests, `attach` closes the server. Without
 * `gracefulShutdown: false` srvx closes it itself at the signal.
 *
 *     PORT=8000 bun examples/frameworks/srvx.ts
 */
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { serve } from "srvx";
import { type BunServerLike, GracefulShutdown } from "../../mod.ts";

const shutdown = new GracefulShutdown({ grace: 10_000 });
const fetch = shutdown.handler(async (request: Request, server: unknown) => {
  void server; // srvx passes on Bun's server, which shows the handler when a response was sent
  const ms = new URL(request.url).pathname.replace("/wait/", "");
  await pause(Number(ms));
  return new Response(`waited ${ms} ms\n`);
});

const port = Number(process.env.PORT ?? 8000);
const server = serve({ fetch, port, gracefulShutdown: false, silent: true });
shutdown.attach(server.bun!.server as BunServerLike);
const { ok } = await shutdown.finished;
process.exit(ok ? 0 : 1);
