/**
 * A node:http(s) or node:http2 server in GracefulShutdown: its listening socket and its connections. Invariant: it sees the
 * server's events before their listeners do, so each connection opened since is known before its first request.
 *
 * @module
 */
import { calmTurn } from "../calm_turn.ts";
import { runtime } from "../../internal/platform.ts";
import { type AttachedServer, LINGER, type ShutdownState, TURN } from "../shutdown_state.ts";
import { Http1Connections } from "./http1.ts";
import { Http2Sessions, type SessionLike, type StreamHeaders, type StreamLike } from "./http2.ts";
import { hasParent, isHttp2, Listener, override } from "./listener.ts";
import type { HttpServer, Incoming, NodeRequestLike, Outgoing, SocketLike } from "./shapes.ts";

/** ms that a worker of a node:cluster returns connections for that are handed over to it after it stopped listening. */
const HANDOVER = 100;

/** How often close() looks for open connections, in ms. */
const STEP = 10;

/** One attached server. */
export class NodeServer implements AttachedServer {
  readonly #state: ShutdownState;
  readonly #server: HttpServer;
  readonly #connections: Http1Connections;
  readonly #sessions: Http2Sessions;
  /** TCP connections of a TLS server, also those that have not finished their handshake. */
  readonly #carriers = new Set<SocketLike>();
  readonly #withdraw: () => void;
  readonly #listener: Listener;
  #stoppedAt = -Infinity;
  readonly #answered = new Map<string, (request: Incoming, response: Outgoing) => void>();
  /** Whether its connections are closed; it is closed again if it listens later. */
  #isOver = false;
  /** Number of connections so far. */
  #accepted = 0;

  constructor(state: ShutdownState, server: HttpServer, label: ((request: NodeRequestLike) => string) | undefined) {
    this.#state = state;
    this.#server = server;
    this.#connections = new Http1Connections(state, server, label);
    this.#sessions = new Http2Sessions(state, label);
    this.#listener = new Listener(server, () => this.#connections.size + this.#carriers.size + this.#sessions.size > 0);
    this.#withdraw = interpose(server, (event, first, second, pass) => this.#intercept(event, first, second, pass));
  }

  begin(): void {
    this.#listener.takeOver();
  }

  settle(): Promise<void> {
    return calmTurn(this.#state, () => this.#accepted, runtime() === "node" ? "immediate" : "timer");
  }

  announce(): void {
    this.#connections.announce();
    // Without a listener of its own, the server would answer that the connection stays.
    const isAnswered = isHttp2(this.#server) || this.#server.listenerCount?.("checkExpectation") !== 0;
    if (!isAnswered) this.#listen("checkExpectation", failExpectation);
  }

  stopListening(): void {
    this.#stoppedAt = performance.now();
    this.#listener.close();
    // Without a listener of its own, the server would send "100 Continue" before the refusal.
    if (this.#state.refuses) this.#listen("checkContinue", () => {});
    this.#connections.restartIdleTime();
    // Not in a delay: behind a GOAWAY, Node and Deno ignore streams that cross it.
    this.#sessions.sayGoodbye();
  }

  sweep(): void {
    this.#connections.endIdle();
    this.#sessions.endIdle();
  }

  async close(): Promise<void> {
    const { inFlight, forced, settings: { idle } } = this.#state;
    do { // A request that arrives meanwhile may take its time.
      await inFlight.empty(forced);
      const until = performance.now() + idle;
      while (this.#hasOpen() && performance.now() < until) await this.#state.pause(STEP);
      if (hasParent()) await this.#state.pause(this.#stoppedAt + HANDOVER - performance.now());
      // The connections that are left are half closed, or have not finished their handshake; they get a bounded time.
      await this.#state.pause(LINGER, this.#listener.closed);
    } while (inFlight.size > 0);
    this.#end();
  }

  #hasOpen(): boolean {
    return this.#connections.hasOpen() || this.#sessions.size > 0;
  }

  cut(): string[] {
    this.#end();
    return []; // every accepted request is in flight
  }

  #end(): void {
    this.#sessions.destroy();
    this.#connections.destroy();
    for (const carrier of this.#carriers) carrier.destroy();
    // Also the connections that were open, and silent, before the server was attached.
    this.#server.closeAllConnections?.();
    if (this.#listener.closed === undefined) this.#listener.close();
    this.#ignore();
    this.#isOver = true;
  }

  isSibling(server: HttpServer): boolean {
    const own = this.#server.listeners?.("request") ?? [];
    return server.listeners?.("request").some((listener) => own.includes(listener)) ?? false;
  }

  detach(): void {
    this.#withdraw();
    this.#ignore();
    this.#listener.handBack();
  }

  #intercept(event: string, first: unknown, second: unknown, pass: () => boolean): boolean {
    if (this.#isOver && event !== "listening") return pass();
    switch (event) {
      case "listening":
        return this.#listening(pass);
      case "stream":
        return !this.#sessions.count(first as StreamLike, second as StreamHeaders) || pass();
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
        if ((first as SocketLike).alpnProtocol !== "h2") this.#connections.of(first as SocketLike);
        break;
      case "session":
        this.#sessions.add(first as SessionLike);
    }
    return pass();
  }

  /** A server that begins to listen after it was stopped is closed again, once the callback has read its address. */
  #listening(pass: () => boolean): boolean {
    if (this.#listener.closed !== undefined) void this.#state.pause(TURN).then(() => this.#listener.close());
    return pass();
  }

  /** Under TLS, requests come on the "secureConnection" instead. */
  #accept(socket: SocketLike): void {
    this.#accepted++;
    if ("setSecureContext" in this.#server) {
      this.#carriers.add(socket);
      socket.once("close", () => this.#carriers.delete(socket));
    } else if (!isHttp2(this.#server)) this.#connections.of(socket);
  }

  #listen(event: string, listener: (request: Incoming, response: Outgoing) => void): void {
    if (this.#answered.has(event)) return;
    this.#answered.set(event, listener);
    this.#server.on?.(event, listener);
  }

  #ignore(): void {
    for (const [event, listener] of this.#answered) this.#server.off?.(event, listener);
  }
}

function failExpectation(_: Incoming, response: Outgoing): void {
  response.writeHead(417);
  response.end();
}

/** Sees one event, with its first two arguments. `pass` passes it to the listeners. Returns what `emit` returns. */
type Interceptor = (event: string, first: unknown, second: unknown, pass: () => boolean) => boolean;

/**
 * Sees the events of a server before its listeners do, however many there are and whenever they were added, by replacing its
 * `emit`. Returns a function that undoes this.
 */
function interpose(server: HttpServer, intercept: Interceptor): () => void {
  const { emit } = server;
  return override(server, "emit", function (this: HttpServer, event: string, ...args: unknown[]): boolean {
    const [first, second] = args;
    // Spreading costs more than the rest of this function: all events of requests have two arguments.
    const pass = args.length === 2
      ? () => emit.call(this, event, first, second)
      : () => emit.call(this, event, ...args);
    return intercept(event, first, second, pass);
  });
}
