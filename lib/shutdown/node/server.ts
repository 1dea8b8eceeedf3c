/**
 * A node:http(s) or node:http2 server in GracefulShutdown: its listening socket and its connections. Invariant: it sees
 * the server's events before their listeners, so each new connection is known before its first request. From the signal
 * on, `server.close()` closes the listening socket without the connections. Otherwise it would also close connections
 * between two requests, even while a slow client still reads a response.
 *
 * @module
 */
import { ASYNC_DISPOSE } from "../../internal/dispose.ts";
import { builtin, currentProcess, runtime } from "../../internal/platform.ts";
import { exposeState } from "../../internal/state.ts";
import { calmTurn } from "../calm_turn.ts";
import type { Labeler } from "../in_flight.ts";
import { type AttachedServer, CHECK_EVERY, LINGER, type ShutdownState, TURN } from "../shutdown_state.ts";
import { Http1Connections } from "./http1.ts";
import { Http2Sessions, type SessionLike, type StreamLike } from "./http2.ts";
import { innerServer } from "../platform/bun.ts";
import { override } from "../override.ts";
import type { HttpServer, Incoming, NodeRequestLike, Outgoing, SocketLike } from "./shapes.ts";

/** Time in ms during which a node:cluster worker that stopped listening returns connections handed over to it. */
const HANDOVER = 100;

/** One attached server. */
export class NodeServer implements AttachedServer {
  readonly #state: ShutdownState;
  readonly #server: HttpServer;
  readonly #connections: Http1Connections;
  readonly #sessions: Http2Sessions;
  /** TCP connections of a TLS server, including unfinished handshakes. */
  readonly #carriers = new Set<SocketLike>();
  readonly #close: HttpServer["close"];
  /** Restore the server's methods that were replaced. */
  readonly #restorers: (() => void)[] = [];
  /** Set once the listener is closed; resolves when the last connection is closed. */
  #closed: Promise<void> | undefined;
  /** The number of connections so far. */
  #accepted = 0;
  #isDetached = false;

  static {
    exposeState(NodeServer, (server) => server.#connections.open);
  }

  constructor(state: ShutdownState, server: HttpServer, label: Labeler<NodeRequestLike>) {
    this.#state = state;
    this.#server = server;
    this.#connections = new Http1Connections(state, label);
    this.#sessions = new Http2Sessions(state, label);
    // Newer versions of node:http2 close their sessions in close(); the inherited close() of node:net does not.
    const inherited = isHttp2(server)
      ? builtin<{ Server: { prototype: HttpServer } }>("net")?.Server.prototype
      : undefined;
    this.#close = (inherited ?? server).close;
    const { emit } = server;
    const emitIntercepted = (event: string, ...args: unknown[]): boolean => {
      const [first, second] = args;
      // Spreading costs more than the rest of this function, and all events of requests have two arguments.
      const pass = args.length === 2
        ? () => emit.call(server, event, first, second)
        : () => emit.call(server, event, ...args);
      return this.#intercept(event, first, second, pass);
    };
    // So it sees the server's events before all listeners, whenever they were added.
    this.#restorers.push(override(server, "emit", emitIntercepted));
  }

  begin(): void {
    const server = this.#server;
    const close: HttpServer["close"] = (callback) => {
      const closed = this.#closeListener();
      if (typeof callback === "function") void closed.then(() => callback());
      return server;
    };
    this.#restorers.push(
      override(innerServer(server) ?? server, "closeIdleConnections", () => {}),
      override(server, "close", close),
      // Disposal of node:http2 bypasses this close().
      override(server, ASYNC_DISPOSE, () => new Promise((resolve) => server.close(() => resolve()))),
    );
    if (this.#state.announces) this.#connections.announce();
  }

  /**
   * On Node it closes the socket at once; stopListening() does the rest. Connections that the system accepts between
   * the last look at its queue and this are reset. From there to this takes 0.08 ms, to stopListening() 0.4 ms (Node
   * 26.10).
   */
  async awaitCalm(): Promise<void> {
    await calmTurn(this.#state, () => this.#accepted);
    if (!this.#isDetached && runtime() === "node") this.#server._handle?.close();
  }

  stopListening(): void {
    void this.#closeListener();
    this.#connections.announce();
    // Not during a delay: it would cost clients streams that cross it, twice if they come back.
    this.#sessions.announce();
  }

  /** Stops listening, again if it listens again. Resolves when the last connection is closed. */
  #closeListener(): Promise<void> {
    const server = this.#server;
    if (this.#closed !== undefined && !server.listening) return this.#closed;
    return this.#closed = new Promise((resolve) => this.#close.call(server, () => resolve()));
  }

  sweep(): void {
    this.#connections.endSilent();
    this.#sessions.endIdle();
  }

  async close(): Promise<void> {
    const { inFlight, settings: { idle } } = this.#state;
    if (hasParent()) await this.#state.pause(HANDOVER);
    // After the idle time, the remaining connections are half closed or have not finished their handshake.
    await this.#state.pause(idle + LINGER, this.#closed);
    // The head of a request has come in part, and its last byte less than a second ago.
    const isReceiving = () => [...this.#connections.open.values()].some((connection) => connection.isReceiving);
    while (isReceiving() && inFlight.size === 0 && !this.#state.forced.aborted) {
      await this.#state.pause(CHECK_EVERY, this.#closed);
    }
    if (inFlight.size === 0) this.cut(); // a request that arrived meanwhile may take long
  }

  cut(): string[] {
    this.#sessions.destroy();
    for (const socket of [...this.#connections.open.keys(), ...this.#carriers]) socket.destroy();
    // Closes silent connections from before the server was attached too.
    this.#server.closeAllConnections?.();
    return []; // every accepted request is in flight
  }

  detach(): void {
    this.#isDetached = true;
    for (const restore of this.#restorers) restore();
  }

  /** Sees one event, with its first two arguments. `pass` passes it to the listeners. Returns what `emit` returns. */
  #intercept(event: string, first: unknown, second: unknown, pass: () => boolean): boolean {
    if (this.#isDetached) return pass(); // `emit` has been replaced again, and cannot be restored
    switch (event) {
      case "listening":
        // It was stopped; its callback reads the address first.
        if (this.#closed !== undefined) void this.#state.pause(TURN).then(() => this.#closeListener());
        break;
      case "stream":
        return this.#sessions.receive(first as StreamLike, second as NodeRequestLike["headers"], pass);
      case "request":
      case "checkContinue":
      case "checkExpectation":
        return this.#connections.receive(first as Incoming, second as Outgoing, pass);
      case "upgrade":
      case "connect":
        return this.#connections.upgrade(first as Incoming, second as SocketLike, pass);
      case "connection":
        this.#accept(first as SocketLike);
        break;
      case "secureConnection":
        if ((first as SocketLike).alpnProtocol !== "h2") this.#connections.connectionOf(first as SocketLike);
        break;
      case "session":
        this.#sessions.add(first as SessionLike);
    }
    return pass();
  }

  /** With TLS, requests arrive on the "secureConnection" instead. */
  #accept(socket: SocketLike): void {
    this.#accepted++;
    if ("setSecureContext" in this.#server) {
      this.#carriers.add(socket);
      socket.once("close", () => this.#carriers.delete(socket));
    } else if (!isHttp2(this.#server)) this.#connections.connectionOf(socket);
  }
}

/** Whether `server` is a node:http2 server. */
function isHttp2(server: object): boolean {
  return "updateSettings" in server;
}

/**
 * Whether a parent process may still hand over connections, as the primary of a node:cluster does until it learns that
 * the worker stopped listening. The worker returns such connections; if it ends first, they never get a response.
 */
function hasParent(): boolean {
  try {
    return currentProcess()?.connected === true;
  } catch {
    return false; // a thread on Deno (2.9.6)
  }
}
