/**
 * HTTP/1 in GracefulShutdown. Invariant: a request is in flight from its head until its answer is sent and its body is in,
 * or until its connection is closed. From the signal on, the last answer of each connection announces that it closes, and a
 * request behind such an announcement counts as not received.
 *
 * @module
 */
import { onCancel } from "../../internal/cancellation.ts";
import { type InFlight, requestLabel, type ShutdownState } from "../shutdown_state.ts";
import {
  abandon,
  afterUpload,
  closeAfter,
  type Incoming,
  keepOpen,
  type NodeRequestLike,
  once,
  type Outgoing,
  refuse,
  refuseUpgrade,
  uploads,
} from "./messages.ts";
import type { NodeSockets, SocketLike } from "./sockets.ts";

/** The requests of one server. */
export class Http1Requests {
  readonly #state: ShutdownState;
  readonly #sockets: NodeSockets;
  readonly #label: ((request: NodeRequestLike) => string) | undefined;
  /** The last request of each connection that waits for its answer. */
  readonly #unanswered = new Map<SocketLike, Outgoing>();
  /** Answers to requests that were counted. */
  readonly #known = new WeakMap<Outgoing, InFlight>();
  /** Requests whose bodies are still coming in. */
  readonly #uploading = new Set<Incoming>();

  constructor(
    state: ShutdownState,
    sockets: NodeSockets,
    label: ((request: NodeRequestLike) => string) | undefined,
  ) {
    this.#state = state;
    this.#sockets = sockets;
    this.#label = label;
    const announce = () => this.#unanswered.forEach((response, socket) => this.#announce(response, socket));
    onCancel({ signal: state.ending.signal }, announce);
  }

  /** Whether the body of a request is still coming in. */
  get hasUploads(): boolean {
    return this.#uploading.size > 0;
  }

  /** Counts a request and passes it on, or refuses it. Returns what `emit` returns. */
  receive(request: Incoming, response: Outgoing, pass: () => boolean): boolean {
    // A listener of "checkContinue" has passed it on, or it is a stream of HTTP/2 and counted as such.
    if (this.#known.has(response) || request.httpVersionMajor === 2) return this.#dispatch(response, pass);
    const { socket } = request;
    // It came after the server had closed its side: it counts as not received.
    if (socket.writableEnded) return true;
    if (this.#state.refuses) return this.#refuse(request, response);
    const inFront = this.#unanswered.get(socket);
    const isLate = this.#state.phase !== "serving";
    if (isLate && inFront !== undefined && !keepOpen(inFront)) return true;
    this.#countRequest(request, response, isLate);
    if (!isLate) return this.#dispatch(response, pass);
    // Others may have come in the same piece: only the last of them closes the connection.
    void this.#state.pause(1).then(() => {
      this.#announce(response, socket);
      this.#dispatch(response, pass);
    });
    return true;
  }

  /** The same for a request to upgrade its connection, which is in flight until it is closed. */
  upgrade(request: Incoming, socket: SocketLike, pass: () => boolean): boolean {
    if (socket.writableEnded) {
      abandon(socket);
      return true;
    }
    if (this.#state.refuses) {
      refuseUpgrade(socket, this.#state.retryAfter);
      return true;
    }
    this.#count(request, socket, () => {});
    return pass();
  }

  #refuse(request: Incoming, response: Outgoing): true {
    const { socket } = request;
    const answered = this.#sockets.begin(socket, () => {});
    response.once("close", () => {
      answered();
      socket.end();
    });
    refuse(request, response, this.#state.retryAfter);
    return true;
  }

  #dispatch(response: Outgoing, pass: () => boolean): boolean {
    this.#state.dispatching = this.#known.get(response);
    try {
      return pass();
    } finally {
      this.#state.dispatching = undefined;
    }
  }

  /** Asks for the connection to be closed, if this is the last answer on it. */
  #announce(response: Outgoing, socket: SocketLike): void {
    const isLast = () => this.#unanswered.get(socket) === response;
    if (isLast()) closeAfter(response, isLast);
  }

  #countRequest(request: Incoming, response: Outgoing, isLate: boolean): void {
    const { socket } = request;
    this.#unanswered.set(socket, response);
    const sent = () => {
      if (this.#unanswered.get(socket) === response) this.#unanswered.delete(socket);
    };
    const [entry, ended] = this.#count(request, socket, sent);
    this.#countUpload(request);
    this.#known.set(response, entry);
    response.once("close", () => {
      sent();
      afterUpload(request, () => {
        ended();
        // An answer before the end of its upload could not announce that it is the last; on Deno, others may stay open.
        const isLast = isLate || response.getHeader("connection") === "close";
        if (isLast && !this.#unanswered.has(socket)) socket.end();
      });
    });
  }

  /** In flight until the connection is closed or the returned function called. */
  #count(request: Incoming, socket: SocketLike, atEnd: () => void): [InFlight, () => void] {
    const entry: InFlight = { label: requestLabel(request, this.#label), cut: () => socket.destroy() };
    this.#state.inFlight.add(entry);
    const ended = once(() => {
      answered();
      atEnd();
      this.#state.inFlight.delete(entry);
    });
    const answered = this.#sockets.begin(socket, ended);
    return [entry, ended];
  }

  #countUpload(request: Incoming): void {
    if (!uploads(request)) return;
    this.#uploading.add(request);
    for (const event of ["end", "close"]) request.once(event, () => this.#uploading.delete(request));
  }
}
