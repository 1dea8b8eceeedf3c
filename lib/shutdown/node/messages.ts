/**
 * Requests and answers of node:http: announcing the last one, refusing, and noticing their end.
 *
 * @module
 */
import { onCancel } from "../../internal/cancellation.ts";
import type { SocketLike } from "./sockets.ts";
import { LINGER, REFUSAL } from "../shutdown_state.ts";

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
  readonly httpVersionMajor?: number;
  readonly complete: boolean;
  readonly socket: SocketLike;
  /** null while the body has no reader. */
  readonly readableFlowing: boolean | null;
  off(event: string, listener: () => void): unknown;
  once(event: string, listener: () => void): unknown;
  resume(): unknown;
}

/** A ServerResponse, as far as it is used. */
export interface Outgoing {
  readonly headersSent: boolean;
  readonly req?: Incoming;
  getHeader(name: string): unknown;
  removeHeader(name: string): unknown;
  setHeader(name: string, value: string): unknown;
  writeHead(status: number, headers: Record<string, string | number>): unknown;
  write(data: string): unknown;
  end(data?: string): unknown;
  once(event: string, listener: () => void): unknown;
}

/**
 * Asks the client to close its connection after this answer, if its head is not sent yet. Not before the request's body is
 * in: the server would close over the rest of it, and the answer would be lost.
 *
 * @param isLast Whether no other request has come on the connection since.
 */
export function closeAfter(response: Outgoing, isLast: () => boolean): void {
  const announce = () => {
    if (!response.headersSent && isLast()) response.setHeader("connection", "close");
  };
  if (response.req === undefined || !uploads(response.req)) announce();
  else response.req.once("end", announce);
}

/** Whether the body of a request is still coming in. */
export function uploads({ complete, headers }: Incoming): boolean {
  return !complete && (headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0);
}

/** Takes the announcement back. Returns false if it is sent, so that no other answer can follow this one. */
export function keepOpen(response: Outgoing): boolean {
  if (response.getHeader("connection") !== "close") return true;
  if (response.headersSent) return false;
  response.removeHeader("connection");
  return true;
}

/** Sends 503. The connection ends after the request's body, which the client may still be sending. */
export function refuse(request: Incoming, response: Outgoing, retryAfter: string): void {
  response.writeHead(503, {
    "connection": "close",
    "retry-after": retryAfter,
    "content-type": "text/plain",
    "content-length": REFUSAL.length,
  });
  const body = request.method === "HEAD" ? "" : REFUSAL;
  if (!uploads(request)) return void response.end(body);
  const end = () => void response.end();
  response.write(body);
  const limit = onCancel({ timeout: LINGER }, end);
  afterUpload(request, () => {
    limit.end();
    end();
  });
  request.resume();
}

/** The same for a connection that was to be upgraded. */
export function refuseUpgrade(socket: SocketLike, retryAfter: string): void {
  abandon(socket);
  const head = `HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: ${retryAfter}\r\n`;
  socket.end(`${head}Content-Type: text/plain\r\nContent-Length: ${REFUSAL.length}\r\n\r\n${REFUSAL}`);
}

/** For an upgraded connection that no listener was given: its data and errors are discarded. */
export function abandon(socket: SocketLike): void {
  socket.on("error", () => {});
  socket.resume();
}

/** Calls `done` when nothing of the request's body is still to come. For requests that have been answered. */
export function afterUpload(request: Incoming, done: () => void): void {
  const { socket } = request;
  if (request.complete || socket.destroyed) return done();
  const ends = [[request, "end"], [request, "close"], [socket, "close"]] as const;
  const first = () => {
    for (const [from, event] of ends) from.off(event, first); // else a kept-alive connection collects them
    done();
  };
  for (const [from, event] of ends) from.once(event, first);
  if (request.readableFlowing === null) request.resume(); // not every run-time does so
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
