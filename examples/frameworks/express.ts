/**
 * Express 5: every accepted request is served, then the process exits.
 *
 *     PORT=8000 node examples/frameworks/express.ts
 */
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import express from "express";
import { GracefulShutdown } from "../../mod.ts";

const shutdown = new GracefulShutdown({ grace: 10_000 });
const app = express();
app.get("/wait/:ms", async (request, response) => {
  await pause(Number(request.params.ms));
  response.send(`waited ${request.params.ms} ms\n`);
});

shutdown.attach(app.listen(Number(process.env.PORT ?? 8000)));
const { ok } = await shutdown.finished;
process.exit(ok ? 0 : 1);
