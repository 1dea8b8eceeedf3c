/**
 * Requests and answers of node:http: refusing them, and knowing when they have ended.
 *
 * @module
 */
import type { SocketLike } from "./_node_sockets.ts";
import { REFUSAL } from "./_shutdown_desk.ts";

/** The part of an IncomingMessage that is used. */
export interface NodeRequestLike {
  /** As in `GET`. */
  readonly method?: string | undefined;
  /** Path and query. */
  readonly url?: string | undefined;
  /** By lower-case names. */
  readonly headers: Record<string, string | string[] | undefined>;
}

/** An IncomingMessage, as far as it is used. */
export interface Incoming extends NodeRequestLike {
  readonly complete: boolean;
  readonly socket: SocketLike;
  once(event: string, listener: () => void): unknown;
  resume(): unknown;
}

/** A ServerResponse, as far as it is used. */
export interface Outgoing {
  readonly headersSent: boolean;
  getHeader(name: string): unknown;
  removeHeader(name: string): unknown;
  setHeader(name: string, value: string): unknown;
  writeHead(status: number, headers: Record<string, string | number>): unknown;
  write(data: string): unknown;
  end(data?: string): unknown;
  once(event: string, listener: () => void): unknown;
}

/** ms that a refused client may go on sending a body that nobody wants, so that it gets to read the refusal. */
export const LINGER = 1000;

/** Asks the client to close its connection after this answer, if that can still be said. */
export function closeAfter(response: Outgoing): void {
  if (!response.headersSent) response.setHeader("connection", "close");
}

/**
 * The same for the last of several requests that wait on one connection; those in front of it are to be answered, too.
 * Returns false if the one in front has said so already, so that nothing can follow it.
 */
export function closeAfterLast(response: Outgoing, inFront: Outgoing | undefined): boolean {
  if (inFront?.getHeader("connection") === "close") {
    if (inFront.headersSent) return false;
    inFront.removeHeader("connection");
  }
  closeAfter(response);
  return true;
}

/** The refusal is complete at once; the connection ends after the request's body, which a client may still be sending. */
export function refuse(request: Incoming, response: Outgoing, retryAfter: string): void {
  response.writeHead(503, {
    "connection": "close",
    "retry-after": retryAfter,
    "content-type": "text/plain",
    "content-length": REFUSAL.length,
  });
  const end = () => void response.end();
  response.write(request.method === "HEAD" ? "" : REFUSAL);
  if (request.complete) return end();
  const timer = setTimeout(end, LINGER);
  afterUpload(request, () => {
    clearTimeout(timer);
    end();
  });
  request.resume();
}

/** The same for a connection that was to become something else than HTTP. */
export function refuseUpgrade(socket: SocketLike, retryAfter: string): void {
  const head = `HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: ${retryAfter}\r\n`;
  socket.end(`${head}Content-Type: text/plain\r\nContent-Length: ${REFUSAL.length}\r\n\r\n${REFUSAL}`);
}

/** Calls `done` when nothing of the request's body is still to come. */
export function afterUpload(request: Incoming, done: () => void): void {
  if (request.complete || request.socket.destroyed) return done();
  const first = once(done);
  request.once("end", first);
  request.once("close", first);
  request.socket.once("close", first);
}

/** `fn`, which runs at the first call only. */
export function once(fn: () => void): () => void {
  let called = false;
  return () => {
    if (called) return;
    called = true;
    fn();
  };
}
