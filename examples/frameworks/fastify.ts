/**
 * Fastify 5 with @fastify/websocket: `app.close()` closes the WebSockets and runs the plugins' `onClose` hooks.
 *
 *     PORT=8000 node examples/frameworks/fastify.ts
 */
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import websocket from "@fastify/websocket";
import fastify from "fastify";
import { GracefulShutdown } from "../../mod.ts";

const shutdown = new GracefulShutdown({ grace: 10_000, ready: false });
// Without this option Fastify itself sends 503 to the last request of a kept-alive connection.
const app = fastify({ return503OnClosing: false });
await app.register(websocket);
app.get<{ Params: { ms: string } }>("/wait/:ms", async ({ params }) => {
  await pause(Number(params.ms));
  return `waited ${params.ms} ms\n`;
});
app.get("/echo", { websocket: true }, (socket) => {
  socket.on("message", (data) => socket.send(String(data)));
});

await app.listen({ port: Number(process.env.PORT ?? 8000) });
shutdown.attach(app.server);
shutdown.onShutdown(() => app.close(), "fastify");
shutdown.ready = true;
const { ok } = await shutdown.finished;
process.exit(ok ? 0 : 1);
