/**
 * Feathers 5 with Koa: its teardown() closes the server once more, which Interlock accepts without an error.
 *
 *     PORT=8000 node examples/frameworks/feathers.ts
 */
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { feathers } from "@feathersjs/feathers";
import { errorHandler, koa, rest } from "@feathersjs/koa";
import { GracefulShutdown } from "../../mod.ts";

const shutdown = new GracefulShutdown({ grace: 10_000, ready: false });
const app = koa(feathers());
app.use(errorHandler());
app.configure(rest((context) => void (context.body = context.feathers?.result ?? context.body)));
app.use("wait", {
  async get(ms: string | number) {
    await pause(Number(ms));
    return `waited ${ms} ms\n`;
  },
});

shutdown.attach(await app.listen(Number(process.env.PORT ?? 8000)));
shutdown.defer(() => app.teardown(), "feathers");
shutdown.ready = true;
const { ok } = await shutdown.finished;
process.exit(ok ? 0 : 1);
