/**
 * WebSockets in flight: from being opened until they are closed, by whichever side.
 *
 * @module
 */
import { must } from "../internal/check.ts";
import type { InFlight, ShutdownState } from "./shutdown_state.ts";

/** The part of a WebSocket that is used: the platform's, Bun's ServerWebSocket, or that of a package. */
export interface WebSocketLike {
  /** 3 when it is closed. */
  readonly readyState?: number;
  /** Closes with a goodbye. */
  close(code?: number, reason?: string): unknown;
  /** Closes without a goodbye, where there is such a thing. */
  terminate?(): unknown;
  /** Announces the end, where there are events. */
  // A method's parameters are compared loosely, which lets every run-time's own listener types through.
  addEventListener?(type: "close", listener: () => void, options?: { once?: boolean }): unknown;
}

/** Arguments, checked. */
export function checkWebSocket(value: unknown): asserts value is WebSocketLike {
  must(typeof (Object(value) as Partial<WebSocketLike>).close === "function", "socket", "be a WebSocket", value);
}

/** Counts it. Returns what ends the counting, for sockets that don't announce their end by an event. */
export function countWebSocket(state: ShutdownState, socket: WebSocketLike, label: string): () => void {
  const close = () => sayGoodbye(socket);
  const entry: InFlight = {
    label,
    onShutdown: close,
    cut: () => socket.terminate === undefined ? close() : socket.terminate(),
  };
  const closed = () => void state.inFlight.delete(entry);
  if (socket.readyState === 3) return closed; // it will not say so any more
  state.inFlight.add(entry);
  socket.addEventListener?.("close", closed, { once: true });
  if (state.phase !== "serving") state.attempt(close);
  return closed;
}

function sayGoodbye(socket: WebSocketLike): void {
  try {
    // 1001 is "going away": the other side is to connect anew, elsewhere.
    socket.close(1001, "shutting down");
  } catch {
    socket.close(); // the platform's own WebSocket, on the client's side, may not say so
  }
}
