/**
 * The connections of a node:http server, the requests on each, and which connections are idle. Nothing here is weak, and
 * nothing is allocated for a request but its exchange: this is on the path of every request.
 *
 * @module
 */
import { InFlight, requestLabel, type WorkInFlight } from "../in_flight.ts";
import type { Incoming, Outgoing, SocketLike } from "./shapes.ts";

const CONNECTION: unique symbol = Symbol("interlock connection");

type Known = SocketLike & { [CONNECTION]?: Connection };

/** A busy process may find a connection silent only because it has not read from it yet. Between two looks it does. */
const LOOKS = 3;

/** One request, from its head until its answer is sent and its body is in, or until its connection is closed. */
export class Exchange extends InFlight {
  // In connection's chain and in the work in flight until end() is called.
  readonly request: Incoming;
  /** Undefined for a request to upgrade its connection. */
  readonly response: Outgoing | undefined;
  readonly connection: Connection;
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
    if (this.connection.remove(this)) this.connection.owner.inFlight.delete(this);
  }
}

/** One connection. */
export class Connection {
  readonly owner: Connections;
  readonly socket: SocketLike;
  /** The last request in flight on it; those before it follow by `older`. An upgraded connection keeps one. */
  newest: Exchange | undefined = undefined;
  /** Since when it has been silent. */
  #quietSince: number;
  /** Number of looks in a row that found it silent. */
  #looks = 0;
  #bytesRead: number | undefined;

  constructor(owner: Connections, socket: SocketLike) {
    this.owner = owner;
    this.socket = socket;
    this.#quietSince = performance.now();
    this.#bytesRead = socket.bytesRead;
    (socket as Known)[CONNECTION] = this;
    socket.on("close", closed);
  }

  add(exchange: Exchange): void {
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
    // A later request shows that it was not silent; only the drain asks for the time.
    if (this.newest === undefined && this.owner.isDraining) this.#quietSince = performance.now();
    return true;
  }

  closed(): void {
    this.owner.delete(this);
    while (this.newest !== undefined) this.newest.end();
  }

  restartIdleTime(): void {
    this.#quietSince = performance.now();
  }

  /** Whether it has been silent for `idle` ms. */
  isIdle(idle: number): boolean {
    if (this.newest !== undefined) return false;
    if (this.#bytesRead !== this.socket.bytesRead) {
      // The head of a request is on its way in.
      this.#bytesRead = this.socket.bytesRead;
      this.#quietSince = performance.now();
      this.#looks = 0;
    }
    return ++this.#looks >= LOOKS && performance.now() - this.#quietSince >= idle;
  }
}

/** One listener for all connections: a closure for each would be most of what an idle connection costs. */
function closed(this: SocketLike): void {
  (this as Known)[CONNECTION]?.closed();
}

/** The open connections of one server. */
export class Connections {
  readonly #open = new Set<Connection>();
  readonly #idle: number;
  /** Whether the listener is closed, so that idle times count. */
  isDraining = false;
  readonly inFlight: WorkInFlight;

  /** @param idle ms that a connection has to be silent in order to count as idle. */
  constructor(inFlight: WorkInFlight, idle: number) {
    this.inFlight = inFlight;
    this.#idle = idle;
  }

  /** Number of open and half-closed connections. */
  get size(): number {
    return this.#open.size;
  }

  /** The requests in flight on all of them. */
  *exchanges(): Iterable<Exchange> {
    for (const { newest } of this.#open) for (let each = newest; each !== undefined; each = each.older) yield each;
  }

  /** Whether there is a connection that the server has not closed its side of. */
  hasOpen(): boolean {
    for (const { socket } of this.#open) if (!socket.writableEnded && !socket.destroyed) return true;
    return false;
  }

  /** The connection of this socket, which is added if it is new. */
  of(socket: SocketLike): Connection {
    const known = (socket as Known)[CONNECTION];
    if (known?.owner === this) return known;
    const connection = new Connection(this, socket);
    if (!socket.destroyed) this.#open.add(connection);
    return connection;
  }

  delete(connection: Connection): void {
    this.#open.delete(connection);
  }

  /** Begins the idle time of every connection anew. */
  restartIdleTime(): void {
    this.isDraining = true;
    for (const connection of this.#open) connection.restartIdleTime();
  }

  /**
   * Closes the server's side of idle connections. The client sees the end of the stream rather than a reset, also if it is
   * sending at this moment: later requests are read, and not answered.
   */
  endIdle(): void {
    for (const connection of this.#open) {
      if (connection.isIdle(this.#idle) && !connection.socket.writableEnded) connection.socket.end();
    }
  }

  /** Closes all of them at once. */
  destroy(): void {
    for (const { socket } of [...this.#open]) socket.destroy();
  }
}
