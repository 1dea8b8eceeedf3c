/**
 * One connection of a node:http server, the requests on it, and whether it is idle. Nothing here is weak, and nothing is
 * allocated for a request but its exchange: this is on the path of every request.
 *
 * @module
 */
import { InFlight, requestLabel } from "../in_flight.ts";
import { LOOK, type ShutdownState } from "../shutdown_state.ts";
import type { Incoming, Outgoing, SocketLike } from "./shapes.ts";

const CONNECTION: unique symbol = Symbol("interlock connection");

type Known = SocketLike & { [CONNECTION]?: Connection };

/** A new connection may be silent for as many idle times: on a busy machine, its client has connected and cannot write yet. */
const NEW = 2;

/** However busy the machine is, this many idle times are enough. */
const SLOWEST = 10;

/** A busy process may find a connection silent only because it has not read from it yet. Between two looks it does. */
const FEWEST_LOOKS = 3;

/** One request, from its head until its answer is sent and its body is in, or until its connection is closed. */
export class Exchange extends InFlight {
  // In connection's chain and in the work in flight until end() is called.
  readonly request: Incoming;
  /** Undefined for a request to upgrade its connection. */
  readonly response: Outgoing | undefined;
  readonly connection: Connection;
  /** Whether the head of its answer will say so if it is the last one. */
  prepared = false;
  /** Whether the head of its answer has said that the connection closes. */
  announced = false;
  /** Whether its answer is sent, or its connection closed; its body may still be coming in. */
  answered = false;
  /** The request before it on the connection, if that is unanswered. */
  older: Exchange | undefined = undefined;
  readonly #method: string | undefined;
  readonly #url: string | undefined; // as it came: routers change the request's own
  #label: string | undefined = undefined;

  /** @param response Undefined for a request to upgrade its connection. */
  constructor(connection: Connection, request: Incoming, response: Outgoing | undefined) {
    super();
    this.connection = connection;
    this.request = request;
    this.response = response;
    this.#method = request.method;
    this.#url = request.url;
    connection.add(this);
  }

  get label(): string {
    return this.#label ??= requestLabel({ method: this.#method, url: this.#url });
  }

  set label(label: string) {
    this.#label = label;
  }

  /** Whether no other request has come on the connection since. */
  get isLast(): boolean {
    return this.connection.newest === this;
  }

  override cut(): void {
    this.connection.socket.destroy();
  }

  /** It is not in flight any more. Calling it again does nothing. */
  end(): void {
    if (this.connection.remove(this)) this.connection.state.inFlight.delete(this);
  }
}

/** One connection, half-closed ones included. */
export class Connection {
  readonly state: ShutdownState;
  /** The open connections of its server. */
  readonly open: Set<Connection>;
  readonly socket: SocketLike;
  /** The last request in flight on it; those before it follow by `older`. An upgraded connection keeps one. */
  newest: Exchange | undefined = undefined;
  /** Whether no request has come on it. */
  #isNew = true;
  /** When the first look found it silent, and how many in a row have. */
  #silentSince = Infinity;
  #looks = 0;
  #bytesRead: number | undefined;

  constructor(state: ShutdownState, open: Set<Connection>, socket: SocketLike) {
    this.state = state;
    this.open = open;
    this.socket = socket;
    this.#bytesRead = socket.bytesRead;
    (socket as Known)[CONNECTION] = this;
    socket.on("close", closed);
    if (!socket.destroyed) open.add(this);
  }

  /** The connection of this socket, which is added to the open ones if it is new. */
  static of(state: ShutdownState, open: Set<Connection>, socket: SocketLike): Connection {
    const known = (socket as Known)[CONNECTION];
    return known?.open === open ? known : new Connection(state, open, socket);
  }

  add(exchange: Exchange): void {
    this.#isNew = false;
    exchange.older = this.newest;
    this.newest = exchange;
    this.#looks = 0;
  }

  /** Returns whether it was in flight. */
  remove(exchange: Exchange): boolean {
    if (this.newest === exchange) this.newest = exchange.older;
    else {
      let newer = this.newest;
      while (newer !== undefined && newer.older !== exchange) newer = newer.older;
      if (newer === undefined) return false;
      newer.older = exchange.older;
    }
    return true;
  }

  closed(): void {
    this.open.delete(this);
    while (this.newest !== undefined) this.newest.end();
  }

  restartIdleTime(): void {
    this.#looks = 0;
  }

  /**
   * Closes the server's side if it has been silent for the idle time. The client sees the end of the stream rather than a
   * reset, also if it is sending at this moment: later requests are read, and not answered.
   */
  endIfIdle(): void {
    if (this.#isIdle(this.state.settings.idle) && !this.socket.writableEnded) this.socket.end();
  }

  #isIdle(idle: number): boolean {
    if (this.newest !== undefined) return false;
    if (this.#bytesRead !== this.socket.bytesRead) {
      // The head of a request is on its way in.
      this.#bytesRead = this.socket.bytesRead;
      this.#looks = 0;
    }
    if (this.#looks++ === 0) this.#silentSince = performance.now();
    // Counted in looks: on a busy machine a look takes longer, and so do the clients.
    return this.#looks > Math.max(FEWEST_LOOKS, idle / LOOK * (this.#isNew ? NEW : 1)) ||
      performance.now() - this.#silentSince > Math.max(idle, LOOK) * SLOWEST;
  }
}

/** One listener for all connections: a closure for each would be most of what an idle connection costs. */
function closed(this: SocketLike): void {
  (this as Known)[CONNECTION]?.closed();
}
