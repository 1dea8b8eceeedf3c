/**
 * HTTP/1 in GracefulShutdown: the path of a request.
 *
 * | stage    | from                                                  | on                                        |
 * | -------- | ----------------------------------------------------- | ----------------------------------------- |
 * | waiting  | `receive`: its head has arrived, and it is in flight   | its connection, behind earlier requests   |
 * | passed   | `#pass`: the server's listeners have it                | at the signal only once it is not held    |
 * | answered | `answered`: its response is sent, or the client gone   | its body may arrive for another second    |
 *
 * Then `end`: it is no longer in flight. From the signal on, the last response of each connection announces the close,
 * and a request behind that announcement counts as not received. On the path of every request: no weak references, and
 * only one allocation per request.
 *
 * @module
 */
import { throwUncaught } from "../../internal/platform.ts";
import { InFlight, requestLabel } from "../in_flight.ts";
import { LOOK, type ShutdownState } from "../shutdown_state.ts";
import { afterUpload, announceClose, refuse, refuseUpgrade } from "./messages.ts";
import type { HttpServer, Incoming, NodeRequestLike, Outgoing, SocketLike } from "./shapes.ts";

const CONNECTION: unique symbol = Symbol("interlock connection");
const EXCHANGE: unique symbol = Symbol("interlock exchange");

type Known = SocketLike & { [CONNECTION]?: Connection };
type Counted = Outgoing & { [EXCHANGE]?: Exchange };

/** A new connection may be silent for this many idle times: its client may have connected and not written yet. */
const NEW = 2;

/** Maximum number of idle times, however busy the machine is. */
const SLOWEST = 10;

/**
 * Minimum number of checks. A busy process may find a connection silent only because it has not read from it; it reads
 * between checks.
 */
const FEWEST_LOOKS = 3;

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
    const known = (socket as Known)[CONNECTION];
    return known?.open === this.#open ? known : new Connection(this.#state, this.#open, socket);
  }

  /** From now on, responses announce that their connections close. */
  announce(): void {
    for (const { newest } of this.#open) {
      for (let each = newest; each !== undefined; each = each.older) announceClose(each, this.#server);
    }
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
    if (known !== undefined || request.httpVersionMajor === 2) return this.#pass(known, pass);
    // It arrived after the server had closed its side, so it counts as not received.
    if (request.socket.writableEnded) return true;
    const connection = this.of(request.socket);
    if (connection.newest?.announced) return true;
    const exchange = this.#count(connection, request, response);
    response[EXCHANGE] = exchange;
    response.on("close", answered);
    const { phase, announces, refuses, retryAfter } = this.#state;
    if (phase === "serving") return this.#pass(exchange, pass);
    if (announces) announceClose(exchange, this.#server);
    this.#passLater(exchange, refuses ? () => refuse(request, response, retryAfter) : pass);
    return true;
  }

  /** Handles an upgrade request. Its connection is in flight until it is closed. */
  upgrade(request: Incoming, socket: SocketLike, pass: () => boolean): boolean {
    if (socket.writableEnded || this.#state.refuses) {
      refuseUpgrade(socket, this.#state.retryAfter);
      return true;
    }
    this.#count(this.of(socket), request, undefined);
    return pass();
  }

  #count(connection: Connection, request: Incoming, response: Outgoing | undefined): Exchange {
    const exchange = new Exchange(connection, request, response);
    if (this.#label !== undefined) exchange.label = requestLabel(request, this.#label);
    return exchange;
  }

  #pass<T>(exchange: Exchange | undefined, pass: () => T): T {
    if (exchange !== undefined) exchange.stage = "passed";
    const outer = this.#state.dispatching;
    this.#state.dispatching = exchange;
    try {
      return pass();
    } finally {
      this.#state.dispatching = outer;
    }
  }

  /**
   * Waits until requests are no longer held back, and for earlier responses: more requests may arrive until then, and
   * only the last one closes the connection. Passes on no request whose client has gone or that was cut: its events are
   * over, and a handler would wait for them forever.
   */
  #passLater(exchange: Exchange, pass: () => unknown): void {
    const { older, connection: { socket } } = exchange;
    const now = () => {
      socket.off("end", now);
      if (exchange.stage === "waiting" && exchange.isListed) this.#pass(exchange, pass);
    };
    if (older !== undefined && older.stage !== "answered") return void older.response?.once("close", now);
    socket.prependListener("end", now); // behind the end of the client's side, the server ends its own
    (this.#state.held ?? this.#state.pause(1)).then(now).catch(throwUncaught);
  }

  /** Whether the invariants hold; for tests. */
  isSound(): boolean {
    return [...this.#open].every(({ newest }) => {
      for (let each = newest; each !== undefined; each = each.older) {
        const { isListed, older } = each;
        if (!isListed || older?.announced || (older?.stage === "waiting" && each.stage !== "waiting")) return false;
      }
      return true;
    });
  }
}

/** One listener for all responses: a closure for each would cost more than everything else here. */
function answered(this: Counted): void {
  const exchange = this[EXCHANGE]!;
  exchange.stage = "answered";
  if (exchange.request.complete) finish(exchange);
  else afterUpload(exchange.request, () => finish(exchange));
}

function finish(exchange: Exchange): void {
  exchange.end();
  // Deno's node:http (2.9) leaves the connection open if it had other requests.
  if (exchange.announced && exchange.connection.newest === undefined) exchange.connection.socket.end();
}

/** One request. It is in its connection's chain while it is listed, behind no request that has announced the close. */
export class Exchange extends InFlight {
  readonly request: Incoming;
  /** Undefined for an upgrade request. */
  readonly response: Outgoing | undefined;
  readonly connection: Connection;
  /** See the top of this file. An upgrade request stays "waiting". */
  stage: "waiting" | "passed" | "answered" = "waiting";
  /** Whether the head of its response has announced the close. */
  announced = false;
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
    connection.state.inFlight.add(this);
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
    if (!this.isListed) return;
    this.connection.remove(this);
    this.connection.state.inFlight.delete(this);
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

  add(exchange: Exchange): void {
    this.#isNew = false;
    exchange.older = this.newest;
    this.newest = exchange;
    this.#looks = 0;
  }

  /** Removes a request that is in flight on it. */
  remove(exchange: Exchange): void {
    if (this.newest === exchange) this.newest = exchange.older;
    else {
      let newer = this.newest!;
      while (newer.older !== exchange) newer = newer.older!;
      newer.older = exchange.older;
    }
  }

  closed(): void {
    this.open.delete(this);
    while (this.newest !== undefined) this.newest.end();
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
