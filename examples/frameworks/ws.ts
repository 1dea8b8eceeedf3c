/**
 * ws: `webSocket` closes each WebSocket with code 1001 at the signal and waits until it is closed.
 *
 *     PORT=8000 node examples/frameworks/ws.ts
 */
import { createServer } from "node:http";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { WebSocketServer } from "ws";
import { GracefulShutdown } from "../../mod.ts";

const shutdown = new GracefulShutdown({ grace: 10_000 });
const server = createServer(async (request, response) => {
  const ms = request.url?.replace("/wait/", "");
  await pause(Number(ms));
  response.end(`waited ${ms} ms\n`);
});
new WebSocketServer({ server, path: "/echo" }).on("connection", (socket) => {
  shutdown.webSocket(socket);
  socket.on("message", (data) => socket.send(String(data)));
});

shutdown.attach(server).listen(Number(process.env.PORT ?? 8000));
const { ok } = await shutdown.finished;
process.exit(ok ? 0 : 1);
