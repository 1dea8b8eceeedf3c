/**
 * Requests and answers of node:http: announcing the last one, refusing, and noticing their end.
 *
 * @module
 */
import { onCancel } from "../../internal/cancellation.ts";
import { runtime } from "../../internal/platform.ts";
import type { Exchange } from "./connections.ts";
import type { Emitter, HttpServer, Incoming, Outgoing, SocketLike } from "./shapes.ts";
import { LINGER, REFUSAL } from "../shutdown_state.ts";

/**
 * Makes the answer say `Connection: close`, also if the handler sets that header itself, in any way: every head
 * goes through writeHead(), also that of flushHeaders(), write() and end(). Only the last answer of a connection says it, and
 * which one that is shows when its head is written.
 */
export function announceClose(exchange: Exchange, server: HttpServer): void {
  const { response } = exchange;
  if (response === undefined || exchange.prepared) return;
  exchange.prepared = true;
  if (response.headersSent) return outliveListener(response, server);
  const { writeHead } = response;
  response.writeHead = function (this: Outgoing, status, ...rest) {
    if (status === 101 || this.headersSent || !exchange.isLast) return writeHead.call(this, status, ...rest);
    exchange.announced = true;
    closeAfterUpload(exchange.request);
    insistOnClose(this);
    return writeHead.call(this, status, ...rest.map((one) => Array.isArray(one) ? settable(one) : one));
  };
  if (response.writeHeader !== undefined) response.writeHeader = response.writeHead; // its other name, up to Node 24
}

/**
 * The headers of a list as writeHead() takes them once a header is set: then it takes no pairs, and on Node 20 and 22 keeps
 * the last one of each name.
 */
function settable(list: readonly unknown[]): unknown[] {
  const flat = Array.isArray(list[0]) ? list.flat() : list;
  const headers = new Map<string, unknown[]>();
  for (let i = 0; i < flat.length; i += 2) {
    const name = String(flat[i]).toLowerCase();
    const known = headers.get(name);
    headers.set(name, known === undefined ? flat.slice(i, i + 2) : [known[0], [known[1], flat[i + 1]].flat()]);
  }
  return [...headers.values()].flat();
}

/**
 * Deno's node:http (2.9.6) destroys the connection behind an answer that did not say so, if the server does not listen: it
 * looks in a listener of "finish", for which the server seems to listen.
 */
function outliveListener(response: Outgoing, server: HttpServer): void {
  if (runtime() !== "deno") return;
  response.prependListener?.(
    "finish",
    () => Object.defineProperty(server, "listening", { value: true, configurable: true }),
  );
  response.once("finish", () => delete server.listening);
}

/**
 * Sets `Connection: close`, and ignores every other `Connection`. Once a header is set, writeHead() sets those it is given
 * by these methods, as do the wrappers around it that packages such as on-headers make.
 */
function insistOnClose(response: Outgoing): void {
  response.setHeader("connection", "close");
  for (const method of ["setHeader", "appendHeader", "removeHeader"] as const) {
    const original = response[method];
    response[method] = function (this: Outgoing, name, ...rest) {
      if (!this.headersSent && /^connection$/i.test(name)) return this;
      return original.call(this, name, ...rest);
    };
  }
}

/**
 * Behind an answer that says close, Node ends the socket by its destroySoon(). While the request's body is still coming in,
 * that would reset the connection, and the answer could be lost.
 */
function closeAfterUpload(request: Incoming): void {
  const { socket } = request;
  if (!uploads(request) || socket.destroySoon === undefined) return;
  const { destroySoon } = socket;
  socket.destroySoon = function (this: SocketLike) {
    afterUpload(request, () => void destroySoon.call(this));
  };
}

/**
 * Sends 503. As announceClose() has prepared it, the connection ends after the request's body, which the client may still be
 * sending.
 */
export function refuse(request: Incoming, response: Outgoing, retryAfter: string): void {
  response.writeHead(503, {
    "retry-after": retryAfter,
    "content-type": "text/plain",
    "content-length": REFUSAL.length,
  });
  response.end(request.method === "HEAD" ? "" : REFUSAL);
}

/** The same for a connection that was to be upgraded. No listener is given it: its data and errors are discarded. */
export function refuseUpgrade(socket: SocketLike, retryAfter: string): void {
  socket.on("error", () => {});
  socket.resume();
  if (socket.writableEnded) return; // it came after the server had closed its side
  const head = `HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: ${retryAfter}\r\n`;
  socket.end(`${head}Content-Type: text/plain\r\nContent-Length: ${REFUSAL.length}\r\n\r\n${REFUSAL}`);
}

/** Whether the body of a request is still coming in. */
function uploads({ complete, headers }: Incoming): boolean {
  return !complete && (headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0);
}

/** Calls `done` when nothing of the body of an answered request is still to come, or a second is over. */
export function afterUpload(request: Incoming, done: () => void): void {
  const { socket } = request;
  if (request.complete || socket.destroyed) return done();
  whenUploaded([[request, "end"], [request, "close"], [socket, "close"]], done);
  if (request.readableFlowing === null) request.resume(); // not every run-time does so
}

/**
 * Calls `done` at the first of the events that end the body of an answered request, and at most a second later: its client
 * may send on forever.
 */
export function whenUploaded(ends: readonly (readonly [from: Emitter, event: string])[], done: () => void): void {
  const first = () => {
    limit.end();
    for (const [from, event] of ends) from.off(event, first); // else a kept-alive connection collects them
    done();
  };
  const limit = onCancel({ timeout: LINGER, keepsAlive: false }, first);
  for (const [from, event] of ends) from.once(event, first);
}
