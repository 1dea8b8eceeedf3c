/**
 * tRPC 11, stand-alone: attach the server that createHTTPServer returns. Subscriptions end at `shutdown.signal`.
 *
 *     PORT=8000 node examples/frameworks/trpc.ts
 */
import { createServer } from "node:http";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { initTRPC } from "@trpc/server";
import { createHTTPHandler } from "@trpc/server/adapters/standalone";
import { GracefulShutdown } from "../../mod.ts";

const shutdown = new GracefulShutdown({ grace: 10_000 });
const t = initTRPC.create();
const router = t.router({
  wait: t.procedure.input((ms) => Number(ms)).query(async ({ input }) => {
    await pause(input);
    return `waited ${input} ms\n`;
  }),
});
const trpc = createHTTPHandler({ router });
const call = t.createCallerFactory(router)({});
const server = createServer(async (request, response) => {
  const ms = /^\/wait\/(\d+)$/.exec(request.url ?? "")?.[1];
  if (ms === undefined) trpc(request, response);
  else response.end(await call.wait(ms));
});

shutdown.attach(server).listen(Number(process.env.PORT ?? 8000));
const { ok } = await shutdown.finished;
process.exit(ok ? 0 : 1);
