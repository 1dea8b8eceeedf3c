/**
 * socket.io: `io.close()` closes every connection; clients reconnect to another instance.
 *
 *     PORT=8000 node examples/frameworks/socket_io.ts
 */
import { createServer } from "node:http";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { Server } from "socket.io";
import { GracefulShutdown } from "../../mod.ts";

const shutdown = new GracefulShutdown({ grace: 10_000 });
const server = createServer(async (request, response) => {
  const ms = request.url?.replace("/wait/", "");
  await pause(Number(ms));
  response.end(`waited ${ms} ms\n`);
});
const io = new Server(server);
io.on("connection", (socket) => {
  socket.on("echo", (text, reply) => reply(text));
});

shutdown.attach(server).listen(Number(process.env.PORT ?? 8000));
shutdown.onShutdown(() => io.close(), "socket.io");
const { ok } = await shutdown.finished;
process.exit(ok ? 0 : 1);
