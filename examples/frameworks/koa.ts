/**
 * Koa: every accepted request is served, then the process exits.
 *
 *     PORT=8000 node examples/frameworks/koa.ts
 */
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import Koa from "koa";
import { GracefulShutdown } from "../../mod.ts";

const shutdown = new GracefulShutdown({ grace: 10_000 });
const app = new Koa();
app.use(async (context) => {
  const ms = context.path.replace("/wait/", "");
  await pause(Number(ms));
  context.body = `waited ${ms} ms\n`;
});

shutdown.attach(app.listen(Number(process.env.PORT ?? 8000)));
const { ok } = await shutdown.finished;
process.exit(ok ? 0 : 1);
