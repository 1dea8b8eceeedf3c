/**
 * Closes the listening socket of a node server, and none of its connections. `server.close()` alone also closes connections
 * between two requests, and with them those that a slow client still reads an answer from.
 *
 * @module
 */

/** The part of a node:http(s), node:http2 or node:net server that is used. */
export interface Closable {
  close(callback?: (error?: Error) => void): unknown;
  closeIdleConnections?(): unknown;
}

/** Where Bun's node:http keeps the server that it is built on, which closes idle connections as well. */
const BUN_INNER = Symbol.for("::bunternal::");

/** Makes every `server.close()` leave the connections alone, also a framework's. Returns a function that undoes this. */
export function keepConnections(server: Closable): () => void {
  const inner = (server as { [BUN_INNER]?: Closable })[BUN_INNER];
  if (inner?.closeIdleConnections !== undefined) inner.closeIdleConnections = () => 0;
  server.closeIdleConnections = () => {};
  return () => void delete server.closeIdleConnections;
}

/** Stops listening. Resolves when the last connection is closed. */
export function closeListener(server: Closable): Promise<void> {
  // The close() of a newer node:http2 closes its sessions, too; that of node:net, which it extends, does not.
  const close = isHttp2(server) ? mostBasicClose(server) : server.close;
  return new Promise((resolve) => void close.call(server, () => resolve()));
}

/** Whether `server` is one of node:http2. */
export function isHttp2(server: object): boolean {
  return "updateSettings" in server;
}

function mostBasicClose(server: Closable): Closable["close"] {
  let { close } = server;
  for (let proto = Object.getPrototypeOf(server); proto !== null; proto = Object.getPrototypeOf(proto)) {
    if (Object.hasOwn(proto, "close")) close = proto.close;
  }
  return close;
}

/** Whether this is Deno's implementation of the node modules. */
export function isDeno(): boolean {
  return (globalThis as { process?: { versions?: { deno?: string } } }).process?.versions?.deno !== undefined;
}

/**
 * Whether a parent process may still be handing connections over to this one, as the primary of a node:cluster does until it
 * has read that the worker stopped listening. They go back to it, unless the worker ends first: then they are never answered.
 */
export function hasParent(): boolean {
  return (globalThis as { process?: { connected?: boolean } }).process?.connected === true;
}
