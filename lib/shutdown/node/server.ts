/**
 * A node:http(s) or node:http2 server in GracefulShutdown: its listening socket and its connections. Invariant: it sees
 * the server's events before their listeners, so each new connection is known before its first request.
 *
 * @module
 */
import { exposeState } from "../../internal/state.ts";
import { calmTurn } from "../calm_turn.ts";
import { type AttachedServer, CHECK_EVERY, LINGER, type ShutdownState, TURN } from "../shutdown_state.ts";
import { Http1Connections } from "./http1.ts";
import { Http2Sessions, type SessionLike, type StreamHeaders, type StreamLike } from "./http2.ts";
import { hasParent, isHttp2, Listener, override } from "./listener.ts";
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
  readonly #withdraw: () => void;
  readonly #listener: Listener;
  /** The number of connections so far. */
  #accepted = 0;
  #isDetached = false;

  static {
    exposeState(NodeServer, (server) => server.#connections);
  }

  constructor(state: ShutdownState, server: HttpServer, label: ((request: NodeRequestLike) => string) | undefined) {
    this.#state = state;
    this.#server = server;
    this.#connections = new Http1Connections(state, label);
    this.#sessions = new Http2Sessions(state, label);
    this.#listener = new Listener(server);
    this.#withdraw = interpose(server, (event, first, second, pass) => this.#intercept(event, first, second, pass));
  }

  begin(): void {
    this.#listener.takeOver();
    if (this.#state.announces) this.#connections.announce();
  }

  async awaitCalm(): Promise<void> {
    await calmTurn(this.#state, () => this.#accepted);
    if (!this.#isDetached) this.#listener.stopAccepting();
  }

  stopListening(): void {
    void this.#listener.close();
    this.#connections.announce();
    // Not during a delay: after a GOAWAY, Node and Deno ignore streams that cross it.
    this.#sessions.sayGoodbye();
  }

  sweep(): void {
    this.#connections.endIdle();
    this.#sessions.endIdle();
  }

  async close(): Promise<void> {
    const { inFlight, settings: { idle } } = this.#state;
    if (hasParent()) await this.#state.pause(HANDOVER);
    // After the idle time, the remaining connections are half closed or have not finished their handshake.
    await this.#state.pause(idle + LINGER, this.#listener.closed);
    while (this.#connections.isReceiving && inFlight.size === 0 && !this.#state.forced.aborted) {
      await this.#state.pause(CHECK_EVERY, this.#listener.closed);
    }
    if (inFlight.size === 0) this.#end(); // a request that arrived meanwhile may take long
  }

  cut(): string[] {
    this.#end();
    return []; // every accepted request is in flight
  }

  #end(): void {
    this.#sessions.destroy();
    this.#connections.destroy();
    for (const carrier of this.#carriers) carrier.destroy();
    // Closes silent connections from before the server was attached too.
    this.#server.closeAllConnections?.();
  }

  /** Whether both servers have the same listener for requests. */
  isSibling(server: HttpServer): boolean {
    const own = this.#server.listeners?.("request") ?? [];
    return server.listeners?.("request").some((listener) => own.includes(listener)) ?? false;
  }

  detach(): void {
    this.#isDetached = true;
    this.#withdraw();
    this.#listener.handBack();
  }

  #intercept(event: string, first: unknown, second: unknown, pass: () => boolean): boolean {
    if (this.#isDetached) return pass(); // `emit` has been replaced again, and cannot be restored
    switch (event) {
      case "listening":
        // It was stopped; its callback reads the address first.
        if (this.#listener.closed !== undefined) void this.#state.pause(TURN).then(() => this.#listener.close());
        break;
      case "stream":
        return this.#sessions.receive(first as StreamLike, second as StreamHeaders, pass);
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

  /** With TLS, requests arrive on the "secureConnection" instead. */
  #accept(socket: SocketLike): void {
    this.#accepted++;
    if ("setSecureContext" in this.#server) {
      this.#carriers.add(socket);
      socket.once("close", () => this.#carriers.delete(socket));
    } else if (!isHttp2(this.#server)) this.#connections.of(socket);
  }
}

/** Sees one event, with its first two arguments. `pass` passes it to the listeners. Returns what `emit` returns. */
type Interceptor = (event: string, first: unknown, second: unknown, pass: () => boolean) => boolean;

/**
 * Replaces a server's `emit` to see its events before all listeners, whenever they were added. Returns a function that
 * undoes this.
 */
function interpose(server: HttpServer, intercept: Interceptor): () => void {
  const { emit } = server;
  return override(server, "emit", function (this: HttpServer, event: string, ...args: unknown[]): boolean {
    const [first, second] = args;
    // Spreading costs more than the rest of this function, and all events of requests have two arguments.
    const pass = args.length === 2
      ? () => emit.call(this, event, first, second)
      : () => emit.call(this, event, ...args);
    return intercept(event, first, second, pass);
  });
}
