/**
 * Elysia on Bun: `handler` around its fetch, served by Bun.serve. `attach(app.server)` alone would count no request.
 *
 *     PORT=8000 bun examples/frameworks/elysia.ts
 */
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { Elysia } from "elysia";
import { type BunServerLike, GracefulShutdown } from "../../mod.ts";

// Not needed with @types/bun.
declare const Bun: { serve(options: object): BunServerLike };

const shutdown = new GracefulShutdown({ grace: 10_000 });
const app = new Elysia().get("/wait/:ms", async ({ params }) => {
  await pause(Number(params.ms));
  return `waited ${params.ms} ms\n`;
});

shutdown.attach(Bun.serve({ port: Number(process.env.PORT ?? 8000), fetch: shutdown.handler(app.fetch) }));
const { ok } = await shutdown.finished;
process.exit(ok ? 0 : 1);
