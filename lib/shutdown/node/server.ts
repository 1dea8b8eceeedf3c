/**
 * The node:http(s) side of GracefulShutdown. It stands between the server and its listeners, however many there are and
 * whenever they were added, by taking the place of the server's `emit` until the end.
 *
 * @module
 */
import {
  abandon,
  afterUpload,
  closeAfter,
  closeAfterLast,
  type Incoming,
  type NodeRequestLike,
  once,
  type Outgoing,
  refuse,
  refuseUpgrade,
} from "./messages.ts";
import { NodeSockets, type SocketLike } from "./sockets.ts";
import { type AttachedServer, type Desk, type Entry, LINGER, requestLabel } from "../shutdown_state.ts";

export type { NodeRequestLike };

/** The part of a node:http(s) server that is used. */
export interface NodeServerLike {
  /** Tells the listeners. Taken over until the shutdown is finished. */
  emit(event: string, ...args: unknown[]): boolean;
  /** Stops listening. */
  close(callback?: (error?: Error) => void): unknown;
  /** Closes those that are between two requests. Called by `close` itself, which is kept from it. */
  closeIdleConnections?(): void;
  /** Closes what is open; for connections from before the server was attached. */
  closeAllConnections?(): void;
}

/** How often idle connections are looked for, in ms. */
const SWEEP = 10;

/** One attached server. */
export class NodeServer implements AttachedServer {
  readonly #desk: Desk;
  readonly #server: NodeServerLike;
  readonly #label: ((request: NodeRequestLike) => string) | undefined;
  readonly #sockets: NodeSockets;
  /** The last answer that each connection waits for. */
  readonly #unanswered = new Map<SocketLike, Outgoing>();
  /** Answers to requests that were counted. */
  readonly #known = new WeakSet<Outgoing>();
  /** Of a TLS server: what its connections run over, also those that have not got as far as that. */
  readonly #carriers = new Set<SocketLike>();
  readonly #detach: () => void;
  #sweeper: ReturnType<typeof setInterval> | undefined;

  constructor(
    desk: Desk,
    server: NodeServerLike,
    label: ((request: NodeRequestLike) => string) | undefined,
  ) {
    this.#desk = desk;
    this.#server = server;
    this.#label = label;
    this.#sockets = new NodeSockets(desk.idle);
    this.#detach = interpose(server, (event, args) => this.#intercept(event, args));
    desk.ending.signal.addEventListener("abort", () => this.#unanswered.forEach(closeAfter), { once: true });
  }

  refuse(): void {
    this.#sockets.endIdle();
    this.#sweeper = setInterval(() => this.#sockets.endIdle(), SWEEP);
  }

  async close(): Promise<void> {
    const until = performance.now() + this.#desk.idle;
    while (this.#sockets.size > 0 && performance.now() < until) await this.#desk.pause(SWEEP);
    // All that is left are refused newcomers and silent connections; they get a bounded time.
    await this.#desk.pause(LINGER, this.#stopListening());
    this.#end();
  }

  /** Node would destroy connections here that have been accepted and not been read from yet. */
  #stopListening(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.closeIdleConnections = () => {};
      this.#server.close(() => resolve());
      delete this.#server.closeIdleConnections;
    });
  }

  cut(): string[] {
    this.#server.close(() => {});
    this.#end();
    return []; // everything that had been accepted is in flight
  }

  #end(): void {
    clearInterval(this.#sweeper);
    this.#sockets.destroy();
    for (const carrier of this.#carriers) carrier.destroy();
    // Those too that were open, and silent, before the server was attached.
    this.#server.closeAllConnections?.();
    this.#detach();
  }

  /** Returns true for an event that the server's own listeners must not see. */
  #intercept(event: string, args: unknown[]): boolean {
    switch (event) {
      case "connection":
        // Under TLS, requests come on the "secureConnection" instead.
        if ("setSecureContext" in this.#server) this.#carry(args[0] as SocketLike);
        else this.#sockets.meet(args[0] as SocketLike);
        return false;
      case "secureConnection":
        this.#sockets.meet(args[0] as SocketLike);
        return false;
      case "request":
      case "checkContinue":
      case "checkExpectation":
        return this.#request(args[0] as Incoming, args[1] as Outgoing);
      case "upgrade":
      case "connect":
        return this.#upgrade(args[0] as Incoming, args[1] as SocketLike);
      default:
        return false;
    }
  }

  #carry(socket: SocketLike): void {
    this.#carriers.add(socket);
    socket.once("close", () => this.#carriers.delete(socket));
  }

  #request(request: Incoming, response: Outgoing): boolean {
    // A listener of "checkContinue" passes it on.
    if (this.#known.has(response)) return false;
    const { socket } = request;
    // It came after we had said goodbye: it counts as not received.
    if (socket.writableEnded) return true;
    if (this.#desk.refuses) {
      response.once("close", this.#sockets.begin(socket, () => {}));
      refuse(request, response, this.#desk.retryAfter);
      return true;
    }
    const leaving = this.#desk.phase !== "serving";
    if (leaving && !closeAfterLast(response, this.#unanswered.get(socket))) return true;
    this.#known.add(response);
    this.#unanswered.set(socket, response);
    const sent = () => {
      if (this.#unanswered.get(socket) === response) this.#unanswered.delete(socket);
    };
    const ended = this.#count(request, socket, sent);
    response.once("close", () => {
      sent();
      afterUpload(request, ended);
    });
    return false;
  }

  /** In flight until the connection is closed or the returned function called. */
  #count(request: Incoming, socket: SocketLike, atEnd: () => void): () => void {
    const entry: Entry = { label: requestLabel(request, this.#label), cut: () => socket.destroy() };
    this.#desk.inFlight.add(entry);
    const ended = once(() => {
      answered();
      atEnd();
      this.#desk.inFlight.delete(entry);
    });
    const answered = this.#sockets.begin(socket, ended);
    return ended;
  }

  #upgrade(request: Incoming, socket: SocketLike): boolean {
    if (socket.writableEnded) {
      abandon(socket);
      return true;
    }
    if (this.#desk.refuses) {
      refuseUpgrade(socket, this.#desk.retryAfter);
      return true;
    }
    this.#count(request, socket, () => {});
    return false;
  }
}

/** Lets `intercept` see each event of `server` first. Returns what undoes it. */
function interpose(server: NodeServerLike, intercept: (event: string, args: unknown[]) => boolean): () => void {
  const emit = server.emit;
  const own = Object.hasOwn(server, "emit");
  const ours = function (this: NodeServerLike, event: string, ...args: unknown[]): boolean {
    return intercept(event, args) || emit.call(this, event, ...args);
  };
  server.emit = ours;
  return () => {
    // Who took its place after us, keeps it.
    if (server.emit !== ours) return;
    if (own) server.emit = emit;
    else delete (server as Partial<NodeServerLike>).emit;
  };
}
