/**
 * A node:http(s) or node:http2 server in GracefulShutdown: its listening socket and its connections. Invariant: it sees the
 * server's events before their listeners do, so each connection opened since is known before its first request.
 *
 * @module
 */
import { Arrivals } from "../accept_queue.ts";
import { type AttachedServer, LINGER, type ShutdownState } from "../shutdown_state.ts";
import { Http1Requests } from "./http1.ts";
import { Http2Sessions, type SessionLike, type StreamHeaders, type StreamLike } from "./http2.ts";
import { interpose } from "./interpose.ts";
import { closeListener, hasParent, isDeno, isHttp2, keepConnections } from "./listener.ts";
import type { Incoming, NodeRequestLike, Outgoing } from "./messages.ts";
import { NodeSockets, type SocketLike } from "./sockets.ts";

export type { NodeRequestLike };

/** The part of a server of node:http, node:https or node:http2 that is used. */
export interface NodeServerLike {
  /** Notifies the listeners. Replaced until the shutdown is finished. */
  emit(event: string, ...args: unknown[]): boolean;
  /** Stops listening. */
  close(callback?: (error?: Error) => void): unknown;
  /** Closes connections between two requests. Has no effect from the signal on. */
  closeIdleConnections?(): void;
  /** Closes every connection, also those from before the server was attached. */
  closeAllConnections?(): void;
}

/** The listeners of a server, as far as they are used. */
interface WithListeners {
  on?(event: string, listener: () => void): unknown;
  off?(event: string, listener: () => void): unknown;
}

/** ms that a worker of a node:cluster returns connections for that are handed over to it after it stopped listening. */
const HANDOVER = 100;

/** How often close() looks for open connections, in ms. */
const STEP = 10;

/** One attached server. */
export class NodeServer implements AttachedServer {
  readonly #state: ShutdownState;
  readonly #server: NodeServerLike;
  readonly #sockets: NodeSockets;
  readonly #requests: Http1Requests;
  readonly #sessions: Http2Sessions;
  /** TCP connections of a TLS server, also those that have not finished their handshake. */
  readonly #carriers = new Set<SocketLike>();
  readonly #undo: (() => void)[];
  #closed: Promise<void> | undefined;
  #stoppedAt = -Infinity;
  readonly #arrivals = new Arrivals();

  constructor(
    state: ShutdownState,
    server: NodeServerLike,
    label: ((request: NodeRequestLike) => string) | undefined,
  ) {
    this.#state = state;
    this.#server = server;
    this.#sockets = new NodeSockets(state.idle);
    this.#requests = new Http1Requests(state, this.#sockets, label);
    this.#sessions = new Http2Sessions(state, label);
    this.#undo = [interpose(server, (event, args, pass) => this.#intercept(event, args, pass))];
  }

  get accepted(): number {
    return this.#arrivals.count;
  }

  isBusy(): boolean {
    return this.#arrivals.isBusy(this.#sockets.size + this.#carriers.size);
  }

  begin(): void {
    this.#undo.push(keepConnections(this.#server));
  }

  stopListening(): void {
    this.#stoppedAt = performance.now();
    this.#closeListener();
    if (this.#state.refuses) this.#refuseContinue();
    this.#sockets.restartIdleTime();
    this.#sessions.sayGoodbye();
  }

  sweep(): void {
    if (this.#closed === undefined) this.#closeListener();
    this.#sockets.endIdle();
    this.#sessions.endIdle();
  }

  async close(): Promise<void> {
    const until = performance.now() + this.#state.idle;
    while (this.#sockets.hasOpen() && performance.now() < until) await this.#state.pause(STEP, this.#closed);
    if (hasParent()) await this.#state.pause(this.#stoppedAt + HANDOVER - performance.now());
    // The connections that are left are half closed, or have not finished their handshake; they get a bounded time.
    await this.#state.pause(LINGER, this.#closed);
    this.#end();
  }

  cut(): string[] {
    this.#end();
    return []; // every accepted request is in flight
  }

  /** Once its listener is closed, Deno's node:http cuts a connection at its answer, even if an upload is still coming in. */
  #closeListener(): void {
    if (!isDeno() || !this.#requests.hasUploads) this.#closed = closeListener(this.#server);
  }

  #end(): void {
    this.#sessions.destroy();
    this.#sockets.destroy();
    for (const carrier of this.#carriers) carrier.destroy();
    // Also the connections that were open, and silent, before the server was attached.
    this.#server.closeAllConnections?.();
    if (this.#closed === undefined) void closeListener(this.#server);
    for (const undo of this.#undo) undo();
  }

  #intercept(event: string, args: unknown[], pass: () => boolean): boolean {
    switch (event) {
      case "listening":
        return this.#listening(pass);
      case "stream":
        return !this.#sessions.count(args[0] as StreamLike, args[1] as StreamHeaders) || pass();
      case "request":
      case "checkContinue":
      case "checkExpectation":
        return this.#requests.receive(args[0] as Incoming, args[1] as Outgoing, pass);
      case "upgrade":
      case "connect":
        return this.#requests.upgrade(args[0] as Incoming, args[1] as SocketLike, pass);
      default:
        this.#meet(event, args[0]);
        return pass();
    }
  }

  /** A server that begins to listen after it was stopped is closed again. */
  #listening(pass: () => boolean): boolean {
    const result = pass();
    if (this.#state.phase !== "serving" && this.#closed !== undefined) this.#closed = closeListener(this.#server);
    return result;
  }

  /** Adds the connection or session that an event is about, if it is about one. */
  #meet(event: string, opened: unknown): void {
    switch (event) {
      case "connection":
        this.#arrivals.add();
        // Under TLS, requests come on the "secureConnection" instead.
        if ("setSecureContext" in this.#server) this.#carry(opened as SocketLike);
        else if (!isHttp2(this.#server)) this.#sockets.meet(opened as SocketLike);
        break;
      case "secureConnection":
        if ((opened as SocketLike).alpnProtocol !== "h2") this.#sockets.meet(opened as SocketLike);
        break;
      case "session":
        this.#sessions.add(opened as SessionLike);
    }
  }

  #carry(socket: SocketLike): void {
    this.#carriers.add(socket);
    socket.once("close", () => this.#carriers.delete(socket));
  }

  /** Without a listener of its own, the server would send "100 Continue" before the refusal. */
  #refuseContinue(): void {
    const server = this.#server as WithListeners;
    const listener = () => {};
    server.on?.("checkContinue", listener);
    this.#undo.push(() => void server.off?.("checkContinue", listener));
  }
}
