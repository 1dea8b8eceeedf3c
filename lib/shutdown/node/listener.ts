/**
 * Closes the listening socket of a node server without its connections. `server.close()` also closes connections
 * between two requests, even while a slow client still reads a response.
 *
 * @module
 */
import { ASYNC_DISPOSE } from "../../internal/dispose.ts";
import { builtin, currentProcess, runtime } from "../../internal/platform.ts";
import { innerServer } from "../platform/bun.ts";
import type { HttpServer } from "./shapes.ts";

/** The listener of one server. */
export class Listener {
  readonly #server: HttpServer;
  readonly #close: HttpServer["close"];
  readonly #undo: (() => void)[] = [];
  /** Set once the listener is closed; resolves when the last connection is closed. */
  closed: Promise<void> | undefined = undefined;

  constructor(server: HttpServer) {
    this.#server = server;
    // Newer versions of node:http2 close their sessions in close(); the inherited close() of node:net does not.
    const net = isHttp2(server) ? builtin<{ Server: { prototype: HttpServer } }>("net")?.Server.prototype : undefined;
    this.#close = (net ?? server).close;
  }

  /**
   * Makes every `server.close()` a close() of this listener, even a framework's call: it leaves the connections alone,
   * and calls back without an error once the last connection is closed.
   */
  takeOver(): void {
    const server = this.#server;
    this.#override(innerServer(server) ?? server, "closeIdleConnections", () => {});
    this.#override(server, "close", (callback) => {
      const closed = this.close();
      if (typeof callback === "function") void closed.then(() => callback());
      return server;
    });
    // Disposal of node:http2 bypasses this close().
    this.#override(server, ASYNC_DISPOSE, () => new Promise((resolve) => server.close(() => resolve())));
  }

  /** Restores the server's methods. */
  handBack(): void {
    for (const undo of this.#undo.splice(0)) undo();
  }

  #override<T extends Partial<HttpServer>, K extends keyof T>(server: T, name: K, method: T[K]): void {
    this.#undo.push(override(server, name, method));
  }

  /**
   * Closes Node's socket at once; close() does the rest. Connections that the system accepts between the last look at its
   * queue and this are reset. From there to this takes 0.08 ms, to the socket's closing by close() 0.4 ms (Node 26.10).
   */
  stopAccepting(): void {
    if (runtime() === "node") this.#server._handle?.close();
  }

  /** Stops listening, again if it listens again. Resolves when the last connection is closed. */
  close(): Promise<void> {
    const server = this.#server;
    if (this.closed !== undefined && !server.listening) return this.closed;
    return this.closed = new Promise((resolve) => this.#close.call(server, () => resolve()));
  }
}

/** Replaces a method. Returns a function that restores it, unless it was replaced again. */
export function override<T extends object, K extends keyof T>(target: T, name: K, method: T[K]): () => void {
  const before = Object.getOwnPropertyDescriptor(target, name);
  target[name] = method;
  return () => {
    if (target[name] !== method) return;
    delete target[name];
    if (before !== undefined) Object.defineProperty(target, name, before);
  };
}

/** Whether `server` is a node:http2 server. */
export function isHttp2(server: object): boolean {
  return "updateSettings" in server;
}

/**
 * Whether a parent process may still hand over connections, as the primary of a node:cluster does until it learns that
 * the worker stopped listening. The worker returns such connections; if it ends first, they never get a response.
 */
export function hasParent(): boolean {
  try {
    return currentProcess()?.connected === true;
  } catch {
    return false; // a thread on Deno (2.9.6)
  }
}
