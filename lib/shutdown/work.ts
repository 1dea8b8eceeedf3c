/**
 * User work that counts as in flight: promises and functions from the call of `track` until they settle, and WebSockets
 * from being opened until either side closes them.
 *
 * @module
 */
import { checkFunction, isThenable, must, quote } from "../internal/check.ts";
import { follow } from "../internal/follow.ts";
import { isServerWebSocket } from "./fetch/bun.ts";
import { Task } from "./in_flight.ts";
import { warn } from "../internal/platform.ts";
import type { ShutdownState } from "./shutdown_state.ts";

/** A promise, or a function to call with the shutdown's signal. */
export type Work = PromiseLike<unknown> | ((signal: AbortSignal) => unknown);

export function checkWork(work: unknown): void {
  must(typeof work === "function" || isThenable(work), "work", "be a promise or a function", work);
  if (typeof work === "function") checkFunction(work, "work");
}

/** Returns the same promise, or one for the function's result. */
export function countWork({ inFlight, signal }: ShutdownState, work: Work, label?: string): PromiseLike<unknown> {
  const isFunction = typeof work === "function";
  const entry = new Task(label ?? ((isFunction && work.name) || "task"));
  const drop = () => inFlight.delete(entry);
  if (!isFunction) follow(work, drop, drop); // before counting it, because this may throw
  inFlight.add(entry);
  return isFunction ? called(work, signal, drop) : work;
}

/** A separate async function, so that the run-time reports an unhandled rejection. */
async function called<T>(work: (signal: AbortSignal) => T, signal: AbortSignal, drop: () => void): Promise<Awaited<T>> {
  try {
    return await work(signal);
  } finally {
    drop();
  }
}

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

/** Checks the argument of webSocket(). */
export function checkWebSocket(value: unknown): asserts value is WebSocketLike {
  const { close, disconnect } = Object(value) as { close?: unknown; disconnect?: unknown };
  const hint = typeof disconnect === "function" ? " (close those of socket.io by onShutdown(() => io.close()))" : "";
  must(typeof close === "function", "socket", `be a WebSocket${hint}`, value);
}

/** Counts a WebSocket. Returns a function that ends the counting, for sockets without events. */
export function countWebSocket(state: ShutdownState, socket: WebSocketLike, label: string): () => void {
  warnIfSilent(socket, label);
  const close = () => {
    // Deno's server (2.9.6) forgets a close() before its socket is open.
    if (socket.readyState === 0) socket.addEventListener?.("open", () => state.attempt(close), { once: true });
    closeGoingAway(socket);
  };
  const cut = () => void (socket.terminate === undefined ? close() : socket.terminate());
  const entry = new Task(label, cut, close);
  const closed = () => state.inFlight.delete(entry);
  if (socket.readyState === 3) return closed; // its close event is over
  socket.addEventListener?.("close", closed, { once: true }); // before it is in flight, as this may throw
  state.inFlight.add(entry);
  if (state.phase === "serving") return closed;
  // Its callback comes inside close(), before the caller has the returned function.
  if (isServerWebSocket(socket)) void Promise.resolve().then(() => state.attempt(close));
  else state.attempt(close);
  return closed;
}

function warnIfSilent(socket: WebSocketLike, label: string): void {
  if (socket.addEventListener !== undefined || isServerWebSocket(socket)) return;
  const mend = "call the returned function when it is, or close those of socket.io by onShutdown(() => io.close())";
  warn(`Cannot see when ${quote(label)} is closed: it has no addEventListener; ${mend}`, "INTERLOCK_WEB_SOCKET");
}

function closeGoingAway(socket: WebSocketLike): void {
  try {
    // 1001 is "going away": the other side should reconnect elsewhere.
    socket.close(1001, "shutting down");
  } catch {
    socket.close(); // the platform's client WebSocket does not accept 1001
  }
}
