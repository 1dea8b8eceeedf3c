/**
 * One connection of a node:http server, the requests on it, and whether it is idle. On the path of every request: it
 * uses no weak references, and allocates only one exchange per request.
 *
 * @module
 */
import { InFlight, requestLabel } from "../in_flight.ts";
import { LOOK, type ShutdownState } from "../shutdown_state.ts";
import type { Incoming, Outgoing, SocketLike } from "./shapes.ts";

const CONNECTION: unique symbol = Symbol("interlock connection");

type Known = SocketLike & { [CONNECTION]?: Connection };

/**
 * A new connection may be silent for this many idle times: on a busy machine, its client may have connected and not
 * written yet.
 */
const NEW = 2;

/** Maximum number of idle times, however busy the machine is. */
const SLOWEST = 10;

/**
 * Minimum number of checks. A busy process may find a connection silent only because it has not read from it; it reads
 * between checks.
 */
const FEWEST_LOOKS = 3;

/**
 * One request, from its head until its response is sent and its body has arrived, or until its connection is closed.
 */
export class Exchange extends InFlight {
  // In connection's chain and in the work in flight until end() is called.
  readonly request: Incoming;
  /** Undefined for an upgrade request. */
  readonly response: Outgoing | undefined;
  readonly connection: Connection;
  /** Whether the head of its response will announce the close if it is the last one. */
  prepared = false;
  /** Whether the head of its response has announced the close. */
  announced = false;
  /** Whether its response is sent or its connection closed; its body may still be arriving. */
  answered = false;
  /** The previous request on the connection, while it has no response. */
  older: Exchange | undefined = undefined;
  readonly #method: string | undefined;
  readonly #url: string | undefined; // the original URL: routers change `request.url`
  #label: string | undefined = undefined;

  /** @param response Undefined for an upgrade request. */
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

  /** Whether it is the latest request on its connection. */
  get isLast(): boolean {
    return this.connection.newest === this;
  }

  override cut(): void {
    this.connection.socket.destroy();
  }

  /** Ends it: it is no longer in flight. Idempotent. */
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
  /** The last request in flight on it; earlier requests follow by `older`. An upgraded connection keeps one. */
  newest: Exchange | undefined = undefined;
  /** Whether it has had no request. */
  #isNew = true;
  /** When a check first found it silent, and the number of such checks in a row. */
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

  /** Returns the connection of this socket; a new one is added to the open connections. */
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
   * Closes the server's side if the connection has been silent for the idle time. The client sees the end of the stream
   * rather than a reset, even if it is sending now: later requests are read and ignored.
   */
  endIfIdle(): void {
    if (this.#isIdle(this.state.settings.idle) && !this.socket.writableEnded) this.socket.end();
  }

  #isIdle(idle: number): boolean {
    if (this.newest !== undefined) return false;
    if (this.#bytesRead !== this.socket.bytesRead) {
      // The head of a request is arriving.
      this.#bytesRead = this.socket.bytesRead;
      this.#looks = 0;
    }
    if (this.#looks++ === 0) this.#silentSince = performance.now();
    // Counted in checks: on a busy machine checks take longer, and so do clients.
    return this.#looks > Math.max(FEWEST_LOOKS, idle / LOOK * (this.#isNew ? NEW : 1)) ||
      performance.now() - this.#silentSince > Math.max(idle, LOOK) * SLOWEST;
  }
}

/** One listener for all connections: a closure for each would be most of an idle connection's cost. */
function closed(this: SocketLike): void {
  (this as Known)[CONNECTION]?.closed();
}
