/**
 * Orders of one user one at a time, on Express and on Hono. A user who sends more than the service can take gets 503
 * with Retry-After; other users notice nothing.
 */
import { KeyedMutex, QueueFullError, TimeoutError } from "@interlock/interlock";
import express from "express";
import { Hono } from "hono";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** For each user: one order in progress, and one that waits for at most 2 s. */
const users = new KeyedMutex<string>({ name: "users", maxWaiting: 1 });
const WAIT = 2000;

/** Charges the card and writes the order; two at once would charge twice. */
async function place(id: string): Promise<string> {
  await sleep(500);
  return `order ${id} placed`;
}

/** Whether a call was refused because its user has too many orders: status 503, not 500. */
const isBusy = (error: unknown) => error instanceof QueueFullError || error instanceof TimeoutError;

export function expressApp(): express.Express {
  const app = express();
  app.post("/:user/:id", async (request, response) => {
    const gone = new AbortController();
    response.once("close", () => gone.abort()); // the order of a client that has left is not placed
    try {
      const { user, id } = request.params;
      response.send(await users.run(user, () => place(id), { timeout: WAIT, signal: gone.signal }));
    } catch (error) {
      if (!isBusy(error)) throw error;
      response.status(503).set("Retry-After", "1").send("busy");
    }
  });
  return app;
}

export function honoApp(): Hono {
  const app = new Hono();
  app.post("/:user/:id", async (context) => {
    const { user, id } = context.req.param();
    const { signal } = context.req.raw; // aborts when the client has left
    return context.text(await users.run(user, () => place(id), { timeout: WAIT, signal }));
  });
  app.onError((error, context) => {
    if (!isBusy(error)) return context.text("error", 500);
    return context.text("busy", 503, { "Retry-After": "1" });
  });
  return app;
}

type Send = (path: string) => Promise<Response>;

/** Three orders of one user and one of another, all at once. */
async function fourOrders(send: Send): Promise<string> {
  const answers = await Promise.all(["/ada/1", "/ada/2", "/ada/3", "/alan/4"].map(send));
  return answers.map(({ status, headers }) => [status, headers.get("retry-after")].filter(Boolean).join(" in ")).sort()
    .join(", ");
}

export async function main(print: (line: string) => void = console.log) {
  const server = expressApp().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  const answers = await fourOrders(async (path) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method: "POST" });
    await response.text();
    return response;
  });
  print(`Express: ${answers}`);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));

  const hono = honoApp();
  print(`Hono: ${await fourOrders(async (path) => await hono.request(path, { method: "POST" }))}`);
  print(`entries left: ${users.size}`);
}

if (import.meta.main) await main();
