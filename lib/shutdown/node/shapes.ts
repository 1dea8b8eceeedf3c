/**
 * The used parts of the node modules' objects, by structure, so that no module is imported.
 *
 * @module
 */
import type { ASYNC_DISPOSE } from "../../internal/dispose.ts";

/** The part of a server of node:http, node:https or node:http2 that is used. */
export interface NodeServerLike {
  /** Notifies the listeners. Replaced until the shutdown is finished. */
  emit(event: string, ...args: unknown[]): boolean;
  /** Stops listening. */
  close(callback?: (error?: Error) => void): unknown;
  /** Closes connections between two requests. Has no effect from the signal on. */
  closeIdleConnections?(): void;
  /** Closes every connection, including connections from before the server was attached. */
  closeAllConnections?(): void;
}

/** Further members, for internal use. */
export interface HttpServer extends NodeServerLike {
  listening?: boolean;
  /** Node's listening socket. */
  _handle?: { close(): void } | null;
  listeners?(event: string): unknown[];
  [ASYNC_DISPOSE]?(): Promise<void>;
}

/** An event emitter. */
export interface Emitter {
  once(event: string, listener: () => void): unknown;
  off(event: string, listener: () => void): unknown;
}

/** The part of a node:net socket that is used. */
export interface SocketLike extends Emitter {
  readonly destroyed: boolean;
  readonly writableEnded: boolean;
  readonly bytesRead?: number;
  readonly bytesWritten?: number;
  readonly server?: HttpServer | null;
  /** The negotiated protocol, for TLS. */
  readonly alpnProtocol?: string | false | null;
  on(event: string, listener: (this: SocketLike) => void): unknown;
  prependListener(event: string, listener: () => void): unknown;
  resume(): unknown;
  end(data?: string): unknown;
  destroy(): unknown;
  destroySoon?(): unknown;
}

/** The part of an IncomingMessage that is used. */
export interface NodeRequestLike {
  /** As in `GET`. */
  readonly method?: string | undefined;
  /** Path and query. */
  readonly url?: string | undefined;
  /** By lower-case names. */
  readonly headers: Record<string, string | string[] | undefined>;
}

/** The used part of an IncomingMessage. */
export interface Incoming extends NodeRequestLike, Emitter {
  readonly httpVersionMajor?: number;
  readonly complete: boolean;
  readonly socket: SocketLike;
  /** null while the body has no reader. */
  readonly readableFlowing: boolean | null;
  resume(): unknown;
}

/** The used part of a ServerResponse. */
export interface Outgoing {
  readonly headersSent: boolean;
  writeHead(status: number, ...rest: unknown[]): unknown;
  writeHeader?(status: number, ...rest: unknown[]): unknown;
  setHeader(name: string, ...rest: unknown[]): unknown;
  appendHeader(name: string, ...rest: unknown[]): unknown;
  removeHeader(name: string, ...rest: unknown[]): unknown;
  end(data?: string): unknown;
  on(event: string, listener: (this: Outgoing) => void): unknown;
  once(event: string, listener: () => void): unknown;
  prependListener?(event: string, listener: () => void): unknown;
}
