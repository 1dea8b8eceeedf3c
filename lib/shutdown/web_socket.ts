/**
 * WebSockets and other upgraded connections, in flight until either side closes them.
 *
 * @module
 */
import { checkFunction, checkOptions, must, quote } from "../internal/check.ts";
import { InFlight } from "./in_flight.ts";
import { uncountUpgrade } from "./node/http1.ts";
import { isServerWebSocket } from "./platform/bun.ts";
import { warn } from "../internal/platform.ts";
import type { ShutdownState } from "./shutdown_state.ts";

/** The used part of a WebSocket: the platform's, Bun's ServerWebSocket, or one of the package ws. */
export interface WebSocketLike {
  /** 3 when it is closed. */
  readonly readyState?: number;
  /** Closes with a closing handshake. */
  close(code?: number, reason?: string): unknown;
  /** Closes without a closing handshake, if there is such a method. */
  terminate?(): unknown;
  /** Listens for its end and beginning, if it has events. */
  // A method, because its parameters are compared loosely: this accepts every run-time's own listener types.
  addEventListener?(type: "close" | "open", listener: () => void, options?: { once?: boolean }): unknown;
}

/** The used part of an upgraded connection, a Socket of node:net or another Duplex. */
export interface RawSocketLike {
  /** Whether it is over. */
  readonly destroyed: boolean;
  /** Ends this side. */
  end(): unknown;
  /** Closes at once. */
  destroy(): unknown;
  /** Listens for its end. */
  once(event: string, listener: () => void): unknown;
}

/**
 * How {@linkcode GracefulShutdown.webSocket} treats a socket.
 *
 * @typeParam S The type of the socket.
 */
export interface WebSocketOptions<S = unknown> {
  /** Names it in {@linkcode ShutdownReport.remaining}. Default: "WebSocket". */
  readonly label?: string | undefined;
  /**
   * Called once at the signal, in place of the close with code 1001: it answers the accepted messages, then closes the
   * socket. Its promise is in flight, too. If the function fails, the report contains its error and the socket is
   * closed.
   */
  readonly close?: ((socket: S) => unknown) | undefined;
}

/** Counts a socket. Returns a function that ends the counting, for sockets without events. */
export function countWebSocket<S extends WebSocketLike | RawSocketLike>(
  state: ShutdownState,
  socket: S,
  options: WebSocketOptions<S> | undefined,
): () => void {
  const { close: closeMethod, disconnect } = Object(socket) as { close?: unknown; disconnect?: unknown };
  const hint = typeof disconnect === "function" ? " (close those of socket.io by onShutdown(() => io.close()))" : "";
  must(typeof closeMethod === "function" || isRaw(socket), "socket", `be a WebSocket${hint}`, socket);
  const { label = "WebSocket", close } = checkOptions(options, "label");
  if (close !== undefined) checkFunction(close, "close");
  state.checkCounting("count WebSocket", label);
  const adapter: WebSocketLike = isRaw(socket) ? asWebSocket(socket) : socket;
  if (adapter.addEventListener === undefined && !isServerWebSocket(adapter)) {
    const remedy = "call the returned function when it is, or close those of socket.io by onShutdown(() => io.close())";
    warn(`Cannot see when ${quote(label)} is closed: it has no addEventListener; ${remedy}`, "INTERLOCK_WEB_SOCKET");
  }
  const entry = new OpenSocket(state, adapter, label, close && (() => close(socket)));
  const onClosed = () => entry.markClosed();
  if (entry.isOver()) return onClosed; // its close event is over
  adapter.addEventListener?.("close", onClosed, { once: true }); // before it is in flight, as this may throw
  state.inFlight.sweepSome(); // nothing reports the end of some sockets
  state.inFlight.add(entry);
  uncountUpgrade((socket as { readonly _socket?: object })._socket ?? socket); // that of the package ws
  if (state.phase !== "serving") entry.closeLatecomer();
  return onClosed;
}

/** One open socket. It is in flight until it is closed and the function that closes it has ended. */
export class OpenSocket extends InFlight {
  readonly #state: ShutdownState;
  readonly #socket: WebSocketLike;
  readonly #close: (() => unknown) | undefined;
  #isClosed = false;
  /** Whether the caller's function runs. */
  isClosing = false;

  constructor(state: ShutdownState, socket: WebSocketLike, label: string, close: (() => unknown) | undefined) {
    super(label);
    this.#state = state;
    this.#socket = socket;
    this.#close = close;
  }

  override isOver(): boolean {
    return !this.isClosing && (this.#isClosed || this.#socket.readyState === 3);
  }

  markClosed(): void {
    this.#isClosed = true;
    if (!this.isClosing) this.#state.inFlight.delete(this);
  }

  override onShutdown(): void {
    const socket = this.#socket;
    // Deno's server (2.9.6) forgets a close() before its socket is open.
    const isOpening = socket.readyState === 0 && socket.addEventListener !== undefined;
    if (isOpening) {
      socket.addEventListener!("open", () => this.#state.collectErrorOf(() => this.onShutdown()), { once: true });
    }
    if (this.#close === undefined) closeGoingAway(socket);
    else if (!isOpening) void this.#closeByCaller(this.#close);
  }

  /**
   * Closes a socket that was opened after the signal. While the listener is about to close, it waits for that: the
   * client would connect anew, and might be reset. Bun calls back inside close(), so the caller has to have its
   * function before.
   */
  closeLatecomer(): void {
    const { heldBack } = this.#state;
    const close = () => this.isListed && this.#state.collectErrorOf(() => this.onShutdown());
    if (heldBack !== undefined || isServerWebSocket(this.#socket)) void Promise.resolve(heldBack).then(close);
    else close();
  }

  override cut(): void {
    if (this.#socket.terminate === undefined) closeGoingAway(this.#socket);
    else this.#socket.terminate();
  }

  async #closeByCaller(close: () => unknown): Promise<void> {
    this.isClosing = true;
    await this.#state.collectRejection(async () => {
      try {
        await close();
      } catch (error) {
        if (!this.#isClosed) closeGoingAway(this.#socket);
        throw error;
      }
    });
    this.isClosing = false;
    if (this.isOver()) this.#state.inFlight.delete(this);
  }
}

function isRaw(value: unknown): value is RawSocketLike {
  const { end, destroy, once } = Object(value) as Partial<RawSocketLike>;
  return [end, destroy, once].every((method) => typeof method === "function");
}

/** Presents a raw socket as a WebSocket. */
function asWebSocket(socket: RawSocketLike): WebSocketLike {
  return {
    get readyState() {
      return socket.destroyed ? 3 : 1;
    },
    close: () => socket.end(),
    terminate: () => socket.destroy(),
    addEventListener: (type, listener) => socket.once(type, listener),
  };
}

function closeGoingAway(socket: WebSocketLike): void {
  try {
    // 1001 is "going away": the other side should reconnect elsewhere.
    socket.close(1001, "shutting down");
  } catch {
    socket.close(); // the platform's client WebSocket does not accept 1001
  }
}
