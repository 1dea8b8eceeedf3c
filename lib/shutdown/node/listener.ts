/**
 * Closes the listening socket of a node server, and none of its connections. `server.close()` alone also closes connections
 * between two requests, and with them those that a slow client still reads an answer from.
 *
 * @module
 */
import { ASYNC_DISPOSE } from "../../internal/dispose.ts";
import { currentProcess } from "../../internal/platform.ts";
import type { HttpServer } from "./shapes.ts";

/** Where Bun's node:http keeps the server that it is built on, which closes idle connections as well. */
const BUN_INNER = Symbol.for("::bunternal::");

/** The listener of one server. */
export class Listener {
  readonly #server: HttpServer;
  readonly #close: HttpServer["close"];
  /** Whether connections are open; then the server is not closed yet, also when its close() calls back. */
  readonly #hasConnections: () => boolean;
  readonly #undo: (() => void)[] = [];
  /** Set once it is closed: resolves when the last connection is. */
  closed: Promise<void> | undefined = undefined;

  constructor(server: HttpServer, hasConnections: () => boolean) {
    this.#server = server;
    // The close() of a newer node:http2 closes its sessions, too; that of node:net, which it extends, does not.
    this.#close = isHttp2(server) ? mostBasicClose(server) : server.close;
    this.#hasConnections = hasConnections;
  }

  /**
   * Makes every `server.close()` leave the connections alone, also a framework's; and one that comes after close() calls back
   * without an error, once the last connection is closed.
   */
  takeOver(): void {
    const server = this.#server;
    const inner = (server as { [BUN_INNER]?: HttpServer })[BUN_INNER];
    if (inner?.closeIdleConnections !== undefined) this.#override(inner, "closeIdleConnections", () => 0);
    this.#override(server, "closeIdleConnections", () => {});
    const { close } = server;
    this.#override(server, "close", (callback) => {
      if (this.closed === undefined || server.listening) {
        return (isHttp2(server) ? this.#close : close).call(server, callback);
      }
      if (typeof callback === "function") void this.closed.then(() => callback());
      return server;
    });
    // Disposal of node:http2 goes past this close().
    this.#override(server, ASYNC_DISPOSE, () => new Promise((resolve) => server.close(() => resolve())));
  }

  /** Undoes it. */
  handBack(): void {
    for (const undo of this.#undo.splice(0)) undo();
  }

  #override<K extends keyof HttpServer>(server: HttpServer, name: K, method: HttpServer[K]): void {
    this.#undo.push(override(server, name, method));
  }

  /** Stops listening. */
  close(): void {
    const server = this.#server;
    this.closed = new Promise((resolve) => {
      server.once?.("close", resolve);
      this.#close.call(server, (error) => {
        // The service has closed it before: Bun (1.4) calls back at once, the others behind the last connection.
        if (error !== undefined && this.#hasConnections()) return;
        server.off?.("close", resolve);
        resolve();
      });
    });
  }
}

/** Replaces a method. Returns a function that undoes it, unless it was replaced again. */
export function override<T extends object, K extends keyof T>(target: T, name: K, method: T[K]): () => void {
  const before = Object.getOwnPropertyDescriptor(target, name);
  target[name] = method;
  return () => {
    if (target[name] !== method) return;
    delete target[name];
    if (before !== undefined) Object.defineProperty(target, name, before);
  };
}

/** Whether `server` is one of node:http2. */
export function isHttp2(server: object): boolean {
  return "updateSettings" in server;
}

function mostBasicClose(server: HttpServer): HttpServer["close"] {
  let { close } = server;
  for (let proto = Object.getPrototypeOf(server); proto !== null; proto = Object.getPrototypeOf(proto)) {
    if (Object.hasOwn(proto, "close")) close = proto.close;
  }
  return close;
}

/**
 * Whether a parent process may still be handing connections over to this one, as the primary of a node:cluster does until it
 * has read that the worker stopped listening. They go back to it, unless the worker ends first: then they are never answered.
 */
export function hasParent(): boolean {
  try {
    return currentProcess()?.connected === true;
  } catch {
    return false; // a thread on Deno (2.9.6)
  }
}
