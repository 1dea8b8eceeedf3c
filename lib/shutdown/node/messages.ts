/**
 * Requests and responses of node:http: announcing the last response, refusing, and detecting the end.
 *
 * @module
 */
import { onCancel } from "../../internal/cancellation.ts";
import type { Emitter, Incoming, Outgoing, SocketLike } from "./shapes.ts";
import { LINGER, REFUSAL } from "../shutdown_state.ts";

/**
 * Converts a list of headers for writeHead(). Once a header is set, writeHead() takes no pairs, and on Node 20 and 22
 * it keeps only the last header of each name. Names become lower-case, because they may be written in two ways.
 */
export function headersAsObject(list: unknown): unknown {
  if (!Array.isArray(list)) return list;
  const namesAndValues: unknown[] = Array.isArray(list[0]) ? list.flat() : list;
  const headers: Record<string, unknown> = {};
  for (let i = 0; i < namesAndValues.length; i += 2) {
    const name = String(namesAndValues[i]).toLowerCase();
    headers[name] = name in headers ? [headers[name], namesAndValues[i + 1]].flat() : namesAndValues[i + 1];
  }
  return headers;
}

/**
 * Sets `Connection: close`, and ignores every other `Connection`. Once a header is set, writeHead() and its wrappers,
 * as by the package on-headers, set headers by these methods.
 *
 * After such a response, Node ends the socket by destroySoon(). While the request's body is still arriving, that would
 * reset the connection, and the response could be lost.
 */
export function sendConnectionClose(request: Incoming, response: Outgoing): void {
  const { socket, socket: { destroySoon } } = request;
  if (destroySoon !== undefined) socket.destroySoon = () => afterUpload(request, () => void destroySoon.call(socket));
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
 * Sends 503. By Exchange.announceClose(), the connection ends after the request's body, which the client may still be
 * sending.
 */
export function refuse(request: Incoming, response: Outgoing, retryAfter: string): void {
  const headers = { "retry-after": retryAfter, "content-type": "text/plain", "content-length": REFUSAL.length };
  response.writeHead(503, headers);
  response.end(request.method === "HEAD" ? "" : REFUSAL);
}

/** Sends 503 to an upgrade request. No listener gets the connection: its data and errors are discarded. */
export function refuseUpgrade(socket: SocketLike, retryAfter: string): void {
  socket.on("error", () => {});
  socket.resume();
  if (socket.writableEnded) return; // it arrived after the server had closed its side
  const head = `HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: ${retryAfter}\r\n`;
  socket.end(`${head}Content-Type: text/plain\r\nContent-Length: ${REFUSAL.length}\r\n\r\n${REFUSAL}`);
}

/** Calls `done` when the body of a request with a response has arrived, or after a second. */
export function afterUpload(request: Incoming, done: () => void): void {
  const { socket } = request;
  if (request.complete || socket.destroyed) return done();
  whenUploaded([[request, "end"], [request, "close"], [socket, "close"]], done);
  if (request.readableFlowing === null) request.resume(); // not every run-time resumes it
}

/**
 * Calls `done` at the first event that ends the body of a request with a response, or after a second, because the
 * client may send forever.
 */
export function whenUploaded(ends: readonly (readonly [from: Emitter, event: string])[], done: () => void): void {
  const onFirst = () => {
    timer.end();
    for (const [from, event] of ends) from.off(event, onFirst); // otherwise a kept-alive connection collects listeners
    done();
  };
  const timer = onCancel({ timeout: LINGER, keepsAlive: false }, onFirst);
  for (const [from, event] of ends) from.once(event, onFirst);
}
