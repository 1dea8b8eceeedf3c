/**
 * A chat that answers each message a moment after it was accepted, also when it is ended in between.
 *
 *     chat.ts (ws|socket.io|bun|deno)
 */
import { createServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { Server } from "socket.io";
import { WebSocketServer } from "ws";
import { GracefulShutdown, type WebSocketLike } from "../../../mod.ts";
import { Deno, serveFetch } from "../platform.ts";

interface BunSocket extends WebSocketLike {
  send(text: string): unknown;
}

/** Longer than servers listen on: Deno (2.9.6) closes its WebSockets when it stops listening. */
const ANSWERED_AFTER = 500;

const shutdown = new GracefulShutdown({ grace: 20_000 });
const pending = new Set<Promise<void>>();

function accept(text: string, send: (answer: string) => unknown): void {
  const answered = pause(ANSWERED_AFTER).then(() => {
    send(`saved ${text}`);
    pending.delete(answered);
  });
  pending.add(answered);
  console.log(`accepted ${text}`);
}

async function allAnswered(): Promise<void> {
  while (pending.size > 0) await Promise.all(pending);
}

const close = async (socket: WebSocketLike) => {
  await allAnswered();
  socket.close(1001);
};

const STARTS: Record<string, () => HttpServer | number> = {
  ws() {
    const server = createServer();
    new WebSocketServer({ server }).on("connection", (socket) => {
      shutdown.webSocket(socket, { close });
      socket.on("message", (text) => accept(String(text), (answer) => socket.send(answer)));
    });
    return server;
  },
  "socket.io"() {
    const server = createServer();
    const io = new Server(server);
    io.on("connection", (socket) => {
      socket.on("message", (text: string) => accept(text, (answer) => socket.emit("message", answer)));
    });
    shutdown.onShutdown(async () => {
      await allAnswered();
      await io.close();
    });
    return server;
  },
  bun() {
    const websocket = {
      open: (socket: BunSocket) => void shutdown.webSocket(socket, { close }),
      message: (socket: BunSocket, text: string) => accept(text, (answer) => socket.send(answer)),
    };
    return serveFetch(shutdown, (request, server) => {
      return server.upgrade(request) ? undefined : new Response("no WebSocket", { status: 400 });
    }, { websocket });
  },
  deno: () =>
    serveFetch(shutdown, (request) => {
      const { socket, response } = Deno!.upgradeWebSocket(request);
      shutdown.webSocket(socket, { close });
      socket.onmessage = ({ data }) => accept(data, (answer) => socket.send(answer));
      return response;
    }),
};

const server = STARTS[process.argv[2] ?? "ws"]!();
if (typeof server === "number") console.log(`listening on ${server}`);
else shutdown.attach(server).listen(0, () => console.log(`listening on ${(server.address() as AddressInfo).port}`));

const report = await shutdown.finished;
const { ok } = report;
if (!ok) console.log(report);
process.exit(ok ? 0 : 1);
