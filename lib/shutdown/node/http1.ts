/**
 * HTTP/1 in GracefulShutdown. Invariant: a request is in flight from its head until its response is sent and its body
 * has arrived, or until its connection is closed. After the response, the body counts for at most a second. Once the
 * listener is closed, or from the start of a delay, the last response of each connection announces the close, and a
 * request behind that announcement counts as not received.
 *
 * @module
 */
import { throwUncaught } from "../../internal/platform.ts";
import { requestLabel } from "../in_flight.ts";
import type { ShutdownState } from "../shutdown_state.ts";
import { Connection, Exchange } from "./connections.ts";
import { afterUpload, announceClose, refuse, refuseUpgrade } from "./messages.ts";
import type { HttpServer, Incoming, NodeRequestLike, Outgoing, SocketLike } from "./shapes.ts";

const EXCHANGE: unique symbol = Symbol("interlock exchange");

type Counted = Outgoing & { [EXCHANGE]?: Exchange };

/** The connections of one server, and the requests on them. */
export class Http1Connections {
  readonly #state: ShutdownState;
  readonly #server: HttpServer;
  readonly #label: ((request: NodeRequestLike) => string) | undefined;
  readonly #open = new Set<Connection>();

  constructor(state: ShutdownState, server: HttpServer, label: ((request: NodeRequestLike) => string) | undefined) {
    this.#state = state;
    this.#server = server;
    this.#label = label;
  }

  /** Number of open and half-closed connections. */
  get size(): number {
    return this.#open.size;
  }

  /** Whether the server's side of any connection is open. */
  hasOpen(): boolean {
    for (const { socket } of this.#open) if (!socket.writableEnded && !socket.destroyed) return true;
    return false;
  }

  /** Returns the connection of this socket, and adds a new one. */
  of(socket: SocketLike): Connection {
    return Connection.of(this.#state, this.#open, socket);
  }

  /** From now on, responses announce that their connections close. */
  announce(): void {
    for (const { newest } of this.#open) {
      for (let each = newest; each !== undefined; each = each.older) announceClose(each, this.#server);
    }
  }

  /** Restarts the idle time of every connection, when the listener is closed. */
  restartIdleTime(): void {
    for (const connection of this.#open) connection.restartIdleTime();
  }

  /** Called every few ms while draining. */
  endIdle(): void {
    for (const connection of this.#open) connection.endIfIdle();
  }

  /** Closes all connections at once. */
  destroy(): void {
    for (const { socket } of [...this.#open]) socket.destroy();
  }

  /** Counts a request and passes it on, or refuses it. Returns what `emit` returns. */
  receive(request: Incoming, response: Counted, pass: () => boolean): boolean {
    // A listener of "checkContinue" has passed it on, or it is an HTTP/2 stream, which is counted elsewhere.
    const known = response[EXCHANGE];
    if (known !== undefined || request.httpVersionMajor === 2) return this.#dispatch(known, pass);
    // It arrived after the server had closed its side, so it counts as not received.
    if (request.socket.writableEnded) return true;
    const connection = this.of(request.socket);
    if (connection.newest?.announced) return true;
    const exchange = this.#count(connection, request, response);
    response[EXCHANGE] = exchange;
    response.on("close", answered);
    const { announces, refuses, held } = this.#state;
    if (!announces && !refuses && held === undefined) return this.#dispatch(exchange, pass);
    if (announces || refuses) announceClose(exchange, this.#server);
    this.#dispatchLate(exchange, refuses ? () => refuse(request, response, this.#state.retryAfter) : pass);
    return true;
  }

  /**
   * Waits until requests are no longer held back, and for earlier responses: more requests may arrive until then, and
   * only the last one closes the connection. Passes on no request whose client has gone or that was cut: its events are
   * over, and a handler would wait for them forever.
   */
  #dispatchLate(exchange: Exchange, pass: () => unknown): void {
    const { older, connection: { socket } } = exchange;
    let isPending = true;
    const dispatch = () => {
      socket.off("end", dispatch);
      if (isPending && exchange.isListed) this.#dispatch(exchange, pass);
      isPending = false;
    };
    if (older?.answered === false) return void older.response?.once("close", dispatch);
    socket.prependListener("end", dispatch); // behind the end of the client's side, the server ends its own
    (this.#state.held ?? this.#state.pause(1)).then(dispatch).catch(throwUncaught);
  }

  /** The same for an upgrade request; its connection is in flight until it is closed. */
  upgrade(request: Incoming, socket: SocketLike, pass: () => boolean): boolean {
    if (socket.writableEnded || this.#state.refuses) {
      refuseUpgrade(socket, this.#state.retryAfter);
      return true;
    }
    this.#count(this.of(socket), request, undefined);
    return pass();
  }

  #dispatch<T>(exchange: Exchange | undefined, pass: () => T): T {
    const outer = this.#state.dispatching;
    this.#state.dispatching = exchange;
    try {
      return pass();
    } finally {
      this.#state.dispatching = outer;
    }
  }

  #count(connection: Connection, request: Incoming, response: Outgoing | undefined): Exchange {
    const exchange = new Exchange(connection, request, response);
    this.#state.inFlight.add(exchange);
    if (this.#label !== undefined) exchange.label = requestLabel(request, this.#label);
    return exchange;
  }
}

/** One listener for all responses: a closure for each would cost more than everything else here. */
function answered(this: Counted): void {
  const exchange = this[EXCHANGE]!;
  exchange.answered = true;
  if (exchange.request.complete) finish(exchange);
  else afterUpload(exchange.request, () => finish(exchange));
}

function finish(exchange: Exchange): void {
  exchange.end();
  // Deno's node:http (2.9) leaves the connection open if it had other requests.
  if (exchange.announced && exchange.connection.newest === undefined) exchange.connection.socket.end();
}
