/**
 * A node:http(s) or node:http2 server in GracefulShutdown. It sees the server's events before their listeners do.
 *
 * @module
 */
import { onCancel } from "../../internal/cancellation.ts";
import { type AttachedServer, type InFlight, LINGER, requestLabel, type ShutdownState } from "../shutdown_state.ts";
import { Http2Sessions, type SessionLike, type StreamHeaders, type StreamLike } from "./http2.ts";
import { interpose } from "./interpose.ts";
import { closeListener, isDeno, isHttp2, keepConnections } from "./listener.ts";
import {
  abandon,
  afterUpload,
  closeAfter,
  type Incoming,
  keepOpen,
  type NodeRequestLike,
  once,
  type Outgoing,
  refuse,
  refuseUpgrade,
  uploads,
} from "./messages.ts";
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

/** How often close() looks for open connections, in ms. */
const STEP = 10;

/** As many open connections make a server busy. */
const BUSY = 8;

/** One attached server. */
export class NodeServer implements AttachedServer {
  readonly #state: ShutdownState;
  readonly #server: NodeServerLike;
  readonly #label: ((request: NodeRequestLike) => string) | undefined;
  readonly #sockets: NodeSockets;
  readonly #sessions: Http2Sessions;
  /** The last request of each connection that waits for its answer. */
  readonly #unanswered = new Map<SocketLike, Outgoing>();
  /** Answers to requests that were counted. */
  readonly #known = new WeakMap<Outgoing, InFlight>();
  /** TCP connections of a TLS server, also those that have not finished their handshake. */
  readonly #carriers = new Set<SocketLike>();
  /** Requests whose bodies are still coming in. */
  readonly #uploading = new Set<Incoming>();
  readonly #undo: (() => void)[];
  #closed: Promise<void> | undefined;

  constructor(
    state: ShutdownState,
    server: NodeServerLike,
    label: ((request: NodeRequestLike) => string) | undefined,
  ) {
    this.#state = state;
    this.#server = server;
    this.#label = label;
    this.#sockets = new NodeSockets(state.idle);
    this.#sessions = new Http2Sessions(state, label);
    this.#undo = [interpose(server, (event, args, pass) => this.#intercept(event, args, pass))];
    const announce = () => this.#unanswered.forEach((response, socket) => this.#announce(response, socket));
    onCancel({ signal: state.ending.signal }, announce);
  }

  isBusy(): boolean {
    return this.#sockets.size >= BUSY;
  }

  stopListening(): void {
    this.#undo.push(keepConnections(this.#server));
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
    if (!isDeno() || this.#uploading.size === 0) this.#closed = closeListener(this.#server);
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
      case "listening": {
        const result = pass();
        if (this.#state.phase !== "serving" && this.#closed !== undefined) this.#closed = closeListener(this.#server);
        return result;
      }
      case "connection":
        // Under TLS, requests come on the "secureConnection" instead.
        if ("setSecureContext" in this.#server) this.#carry(args[0] as SocketLike);
        else if (!isHttp2(this.#server)) this.#sockets.meet(args[0] as SocketLike);
        return pass();
      case "secureConnection":
        if ((args[0] as SocketLike).alpnProtocol !== "h2") this.#sockets.meet(args[0] as SocketLike);
        return pass();
      case "session":
        this.#sessions.add(args[0] as SessionLike);
        return pass();
      case "stream":
        return !this.#sessions.count(args[0] as StreamLike, args[1] as StreamHeaders) || pass();
      case "request":
      case "checkContinue":
      case "checkExpectation":
        return this.#request(args[0] as Incoming, args[1] as Outgoing, pass);
      case "upgrade":
      case "connect":
        return this.#upgrade(args[0] as Incoming, args[1] as SocketLike, pass);
      default:
        return pass();
    }
  }

  #carry(socket: SocketLike): void {
    this.#carriers.add(socket);
    socket.once("close", () => this.#carriers.delete(socket));
  }

  #request(request: Incoming, response: Outgoing, pass: () => boolean): boolean {
    // A listener of "checkContinue" has passed it on, or it is a stream of HTTP/2 and counted as such.
    if (this.#known.has(response) || request.httpVersionMajor === 2) return this.#dispatch(response, pass);
    const { socket } = request;
    // It came after the server had closed its side: it counts as not received.
    if (socket.writableEnded) return true;
    if (this.#state.refuses) {
      const answered = this.#sockets.begin(socket, () => {});
      response.once("close", () => {
        answered();
        socket.end();
      });
      refuse(request, response, this.#state.retryAfter);
      return true;
    }
    const inFront = this.#unanswered.get(socket);
    const isLate = this.#state.phase !== "serving";
    if (isLate && inFront !== undefined && !keepOpen(inFront)) return true;
    this.#countRequest(request, response, isLate);
    if (!isLate) return this.#dispatch(response, pass);
    // Others may have come in the same piece: only the last of them closes the connection.
    void this.#state.pause(1).then(() => {
      this.#announce(response, socket);
      this.#dispatch(response, pass);
    });
    return true;
  }

  #dispatch(response: Outgoing, pass: () => boolean): boolean {
    this.#state.dispatching = this.#known.get(response);
    try {
      return pass();
    } finally {
      this.#state.dispatching = undefined;
    }
  }

  /** Asks for the connection to be closed, if this is the last answer on it. */
  #announce(response: Outgoing, socket: SocketLike): void {
    const isLast = () => this.#unanswered.get(socket) === response;
    if (isLast()) closeAfter(response, isLast);
  }

  #countRequest(request: Incoming, response: Outgoing, isLate: boolean): void {
    const { socket } = request;
    this.#unanswered.set(socket, response);
    const sent = () => {
      if (this.#unanswered.get(socket) === response) this.#unanswered.delete(socket);
    };
    const [entry, ended] = this.#count(request, socket, sent);
    if (uploads(request)) {
      this.#uploading.add(request);
      for (const event of ["end", "close"]) request.once(event, () => this.#uploading.delete(request));
    }
    this.#known.set(response, entry);
    response.once("close", () => {
      sent();
      afterUpload(request, () => {
        ended();
        // An answer before the end of its upload could not announce that it is the last; on Deno, others may stay open.
        const isLast = isLate || response.getHeader("connection") === "close";
        if (isLast && !this.#unanswered.has(socket)) socket.end();
      });
    });
  }

  /** In flight until the connection is closed or the returned function called. */
  #count(request: Incoming, socket: SocketLike, atEnd: () => void): [InFlight, () => void] {
    const entry: InFlight = { label: requestLabel(request, this.#label), cut: () => socket.destroy() };
    this.#state.inFlight.add(entry);
    const ended = once(() => {
      answered();
      atEnd();
      this.#state.inFlight.delete(entry);
    });
    const answered = this.#sockets.begin(socket, ended);
    return [entry, ended];
  }

  #upgrade(request: Incoming, socket: SocketLike, pass: () => boolean): boolean {
    if (socket.writableEnded) {
      abandon(socket);
      return true;
    }
    if (this.#state.refuses) {
      refuseUpgrade(socket, this.#state.retryAfter);
      return true;
    }
    this.#count(request, socket, () => {});
    return pass();
  }

  /** Without a listener of its own, the server would send "100 Continue" before the refusal. */
  #refuseContinue(): void {
    const server = this.#server as WithListeners;
    const listener = () => {};
    server.on?.("checkContinue", listener);
    this.#undo.push(() => void server.off?.("checkContinue", listener));
  }
}
