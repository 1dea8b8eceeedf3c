/**
 * HTTP/1 in GracefulShutdown: the path of a request.
 *
 * | stage    | from                                                 | in flight | on its connection |
 * | -------- | ---------------------------------------------------- | --------- | ----------------- |
 * | waiting  | `receive`: its head has arrived                      | yes       | yes               |
 * | passed   | `#pass`: the server's listeners have it              | yes       | yes               |
 * | answered | `answered`: its response is sent, or the client gone | yes       | no                |
 * | ended    | `end`: its body has arrived, or did not for a second | no        | no                |
 *
 * From the signal on, requests wait until they are no longer held back and earlier ones are answered. The last response
 * of each connection announces the close, and a request behind that announcement counts as not received. On the path of
 * every request: no weak references, and only one allocation per request.
 *
 * @module
 */
import { throwUncaught } from "../../internal/platform.ts";
import { InFlight, type Labeler, requestLabel } from "../in_flight.ts";
import { CHECK_EVERY, LINGER, type ShutdownState } from "../shutdown_state.ts";
import { outliveListener } from "../platform/deno.ts";
import { afterUpload, headersAsObject, refuse, refuseUpgrade, sendConnectionClose } from "./messages.ts";
import type { Incoming, NodeRequestLike, Outgoing, SocketLike } from "./shapes.ts";

const EXCHANGE: unique symbol = Symbol("interlock exchange");

/** A response, or the socket of an upgraded connection. */
interface WithExchange {
  [EXCHANGE]?: Exchange;
}

/** Counts an upgraded connection no longer, as its WebSocket is counted. It stays known as upgraded. */
export function uncountUpgrade(socket: object): void {
  const exchange = (socket as WithExchange)[EXCHANGE];
  exchange?.connection.shutdown.inFlight.delete(exchange);
}

/**
 * Minimum number of checks. A busy process may find a connection silent only because it has not read from it; it reads
 * between checks.
 */
const FEWEST_CHECKS = 3;

/** The connections of one server, and the requests on them. */
export class Http1Connections {
  readonly #state: ShutdownState;
  readonly #labeler: Labeler<NodeRequestLike>;
  /** The open connections by their sockets. */
  readonly open: Map<SocketLike, Connection> = new Map();
  /** One listener for all connections: a closure for each would be most of an idle connection's cost. */
  readonly #onClosed: (this: SocketLike) => void;

  constructor(state: ShutdownState, labeler: Labeler<NodeRequestLike>) {
    this.#state = state;
    this.#labeler = labeler;
    const { open } = this;
    this.#onClosed = function (this: SocketLike) {
      const connection = open.get(this);
      while (connection?.lastRequest !== undefined) connection.lastRequest.end();
      open.delete(this);
    };
  }

  /** Returns the connection of this socket, and adds a new one. */
  connectionOf(socket: SocketLike): Connection {
    let connection = this.open.get(socket);
    if (connection === undefined) {
      this.open.set(socket, connection = new Connection(this.#state, socket));
      socket.on("close", this.#onClosed);
    }
    return connection;
  }

  /** From now on, responses announce that their connections close. */
  announce(): void {
    for (const { lastRequest } of this.open.values()) {
      for (let each = lastRequest; each !== undefined; each = each.older) each.announceClose();
    }
  }

  /** Called every few ms while draining. Upgraded connections have to wait for all other work. */
  endSilent(): void {
    const isBusy = [...this.#state.inFlight].some((entry) => !(entry instanceof Exchange && entry.isUpgraded));
    for (const connection of this.open.values()) connection.endIfSilent(isBusy);
  }

  /** Counts a request and passes it on, or refuses it. Returns what `emit` returns. */
  receive(request: Incoming, response: Outgoing & WithExchange, pass: () => boolean): boolean {
    // A listener of "checkContinue" has passed it on, or it is an HTTP/2 stream, which is counted elsewhere.
    const counted = response[EXCHANGE];
    if (counted !== undefined || request.httpVersionMajor === 2) return this.#pass(counted, pass);
    // It arrived after the server had closed its side, so it counts as not received.
    if (request.socket.writableEnded) return true;
    const connection = this.connectionOf(request.socket);
    if (connection.lastRequest?.closeAnnounced) return true;
    const exchange = new Exchange(connection, request, response, this.#labeler);
    response[EXCHANGE] = exchange;
    response.on("close", onAnswered);
    const { phase, announces, refuses, retryAfter } = this.#state;
    if (phase === "serving") return this.#pass(exchange, pass);
    if (announces) exchange.announceClose();
    this.#passLater(exchange, refuses ? () => refuse(request, response, retryAfter) : () => this.#pass(exchange, pass));
    return true;
  }

  /** Handles an upgrade request. Its connection is in flight until it is closed. */
  upgrade(request: Incoming, socket: SocketLike & WithExchange, pass: () => boolean): boolean {
    const { phase, refuses, retryAfter } = this.#state;
    if (socket.writableEnded || refuses) {
      refuseUpgrade(socket, retryAfter);
      return true;
    }
    const exchange = socket[EXCHANGE] = new Exchange(this.connectionOf(socket), request, undefined, this.#labeler);
    if (phase === "serving") return pass();
    socket.on("error", () => {}); // until it is passed on, it has no listener
    this.#passLater(exchange, pass);
    return true;
  }

  /** Passes a request on. Meanwhile its exchange is the one that a wrapped handler must not count again. */
  #pass<T>(exchange: Exchange | undefined, pass: () => T): T {
    const outerExchange = this.#state.exchangeOfServer;
    this.#state.exchangeOfServer = exchange;
    try {
      return pass();
    } finally {
      this.#state.exchangeOfServer = outerExchange;
    }
  }

  /**
   * Waits until requests are no longer held back, and for earlier responses: more requests may arrive until then, and
   * only the last one closes the connection. Passes on no request whose client has gone or that was cut: its events are
   * over, and a handler would wait for them forever.
   */
  #passLater(exchange: Exchange, pass: () => unknown): void {
    const { older, connection: { socket } } = exchange;
    let isWaiting = true;
    const passNow = () => {
      socket.off("end", passNow);
      if (isWaiting && exchange.isListed) pass();
      isWaiting = false;
    };
    if (older !== undefined) return void older.response?.once("close", passNow);
    socket.prependListener("end", passNow); // behind the end of the client's side, the server ends its own
    (this.#state.heldBack ?? this.#state.pause(1)).then(passNow).catch(throwUncaught);
  }
}

/** One listener for all responses: a closure for each would cost more than everything else here. */
function onAnswered(this: Outgoing & WithExchange): void {
  const exchange = this[EXCHANGE]!;
  exchange.connection.remove(exchange);
  if (exchange.request.complete) exchange.end();
  else afterUpload(exchange.request, () => exchange.end());
}

/**
 * One request. It is in its connection's chain until it is answered, behind no request that has announced the close.
 */
export class Exchange extends InFlight {
  readonly request: Incoming;
  /** Undefined for an upgrade request. */
  readonly response: Outgoing | undefined;
  readonly connection: Connection;
  /** Whether the head of its response has announced the close. */
  closeAnnounced = false;
  /** The previous request on the connection, while it has no response. */
  older: Exchange | undefined;
  readonly #url: string | undefined; // the original URL: routers change `request.url`

  /** @param response Undefined for an upgrade request. */
  constructor(connection: Connection, request: Incoming, response?: Outgoing, labeler?: Labeler<NodeRequestLike>) {
    super(labeler && requestLabel(request, labeler));
    this.connection = connection;
    this.request = request;
    this.response = response;
    this.#url = request.url;
    connection.add(this);
    connection.shutdown.inFlight.add(this);
  }

  override defaultLabel(): string {
    return requestLabel({ method: this.request.method, url: this.#url });
  }

  /** Whether it is a connection not passed to `webSocket()`: the drain waits for it only until it is silent. */
  get isUpgraded(): boolean {
    return this.response === undefined;
  }

  /**
   * Adds `Connection: close` to the last response of a connection, even if the handler sets that header itself. Every
   * head goes through writeHead(), including heads written by flushHeaders(), write() and end(). Only when the head is
   * written is it known which response is the last. Calling it again has no further effect.
   */
  announceClose(): void {
    const { request, response, connection } = this;
    if (response === undefined) return;
    if (response.headersSent) return outliveListener(response, request.socket.server);
    const { writeHead } = response;
    response.writeHead = (status, ...rest) => {
      if (status === 101 || response.headersSent || connection.lastRequest !== this) {
        return writeHead.call(response, status, ...rest);
      }
      this.closeAnnounced = true;
      sendConnectionClose(request, response);
      return writeHead.call(response, status, ...rest.map(headersAsObject));
    };
    if (response.writeHeader !== undefined) response.writeHeader = response.writeHead; // its alias up to Node 24
  }

  override cut(): void {
    this.connection.socket.destroy();
  }

  /** Ends it: it is no longer in flight. Idempotent. */
  end(): void {
    const { connection } = this;
    connection.remove(this);
    connection.expectHead(this.request.complete);
    connection.shutdown.inFlight.delete(this);
    // Deno's node:http (2.9) leaves the connection open if it had other requests.
    if (this.closeAnnounced && connection.lastRequest === undefined) connection.socket.end();
  }
}

/** One connection, half-closed ones included. */
export class Connection {
  readonly shutdown: ShutdownState;
  readonly socket: SocketLike;
  /** The last request without a response on it; earlier ones follow by `older`. An upgraded connection keeps one. */
  lastRequest: Exchange | undefined;
  /** The number of checks in a row that found it silent. */
  #silentChecks: number;
  /** The bytes in both directions at the last check. */
  #bytes = 0;
  /** If more bytes than these have been read, a part of the next request's head has come. */
  #headOffset: number;

  constructor(state: ShutdownState, socket: SocketLike) {
    this.shutdown = state;
    this.socket = socket;
    this.#headOffset = socket.bytesRead ?? 0;
    // Below 0 if the idle time is short; it has twice that time: its client may not have written yet.
    const { idle } = state.settings;
    this.#silentChecks = idle < 200 ? -idle / CHECK_EVERY : 0;
  }

  add(exchange: Exchange): void {
    exchange.older = this.lastRequest;
    this.lastRequest = exchange;
    this.#silentChecks = 0;
  }

  /** Removes a request. Idempotent. */
  remove(exchange: Exchange): void {
    if (this.lastRequest === exchange) this.lastRequest = exchange.older;
    for (let each = this.lastRequest; each !== undefined; each = each.older) {
      if (each.older === exchange) each.older = exchange.older;
    }
  }

  /**
   * Notes that the bytes read so far belong to requests that are over, and later ones too unless the last is complete.
   */
  expectHead(isComplete: boolean): void {
    this.#headOffset = isComplete ? this.socket.bytesRead ?? 0 : Infinity;
  }

  /** Whether a part of a request's head has come. */
  get isReceiving(): boolean {
    const { lastRequest, socket } = this;
    return lastRequest === undefined && !socket.writableEnded && (socket.bytesRead ?? 0) > this.#headOffset;
  }

  /**
   * Closes the server's side if the connection has been silent for the idle time, or for a second within the head of a
   * request. The client sees the end of the stream rather than a reset, even if it is sending now: later requests are
   * read and ignored. An upgraded connection that nothing has declared has a second too, and then another one until it
   * is destroyed, and is not ended while other work is in flight.
   */
  endIfSilent(isBusy: boolean): void {
    const { lastRequest, socket, shutdown: { settings: { idle } } } = this;
    const isUpgraded = lastRequest?.isUpgraded ?? false;
    if (!isUpgraded && (lastRequest !== undefined || socket.writableEnded)) return;
    const bytes = (socket.bytesRead ?? 0) + (socket.bytesWritten ?? 0);
    if (this.#bytes !== bytes) this.#silentChecks = Math.min(this.#silentChecks, 0);
    this.#bytes = bytes;
    const limit = isUpgraded ? LINGER : this.isReceiving ? Math.max(idle, LINGER) : idle;
    // Counted in checks: on a busy machine checks take longer, and so do clients.
    const isSilent = ++this.#silentChecks > Math.max(FEWEST_CHECKS, limit / CHECK_EVERY);
    if (!isSilent || (isUpgraded && isBusy)) return;
    this.#silentChecks = 0;
    if (socket.writableEnded) socket.destroy();
    else socket.end();
  }
}
