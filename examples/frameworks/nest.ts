/**
 * NestJS 11, with the adapter of Express or of Fastify. Its close() ends the modules that handlers use, so it comes
 * after the last request: `defer`, not `onShutdown`. Do not call enableShutdownHooks(): it sends the signal again.
 *
 *     PORT=8000 node examples/frameworks/nest.ts [fastify]
 */
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import "reflect-metadata";
import { Controller, Get, Module, Param } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { ExpressAdapter } from "@nestjs/platform-express";
import { FastifyAdapter } from "@nestjs/platform-fastify";
import { GracefulShutdown } from "../../mod.ts";

class Waiting {
  async wait(ms: string): Promise<string> {
    await pause(Number(ms));
    return `waited ${ms} ms\n`;
  }
}
class App {}
// The decorators as functions: Node strips types and knows no decorators.
Controller("wait")(Waiting);
Get(":ms")(Waiting.prototype, "wait", Object.getOwnPropertyDescriptor(Waiting.prototype, "wait")!);
Param("ms")(Waiting.prototype, "wait", 0);
Module({ controllers: [Waiting] })(App);

const shutdown = new GracefulShutdown({ grace: 10_000, ready: false });
// Otherwise Fastify itself sends 503 to the last request of a kept-alive connection.
const fastify = () => new FastifyAdapter({ return503OnClosing: false } as object);
const adapter = process.argv[2] === "fastify" ? fastify() : new ExpressAdapter();
const app = await NestFactory.create(App, adapter, { logger: ["error", "warn"] });
await app.listen(Number(process.env.PORT ?? 8000));
shutdown.attach(app.getHttpServer());
shutdown.defer(() => app.close(), "nest");
shutdown.ready = true;
const { ok } = await shutdown.finished;
process.exit(ok ? 0 : 1);
