/**
 * The interface to a client. Adapters implement it by structure, so no driver is imported. Invariant: a backend never
 * closes a connection that it did not open.
 *
 * @module
 */
import { checkCopy, quote } from "../../internal/check.ts";
import { hasMethods, recognize } from "./libraries.ts";

/**
 * The commands of a client that this module uses. Create one with {@linkcode nodeRedis}, {@linkcode ioRedis},
 * {@linkcode bunRedis} or {@linkcode denoRedis}, or write one for another client: two functions are enough.
 */
export interface Backend {
  /**
   * Runs a script by its digest; rejects with a message that begins with NOSCRIPT if the server does not know the
   * script.
   *
   * @param sha The SHA-1 of the script, in hexadecimal.
   * @param keys The keys that the script uses.
   * @param args Its other arguments.
   */
  evalsha(sha: string, keys: string[], args: string[]): Promise<unknown>;
  /**
   * Runs a script by its text.
   *
   * @param script The text of the script, in Lua.
   * @param keys The keys that the script uses.
   * @param args Its other arguments.
   */
  eval(script: string, keys: string[], args: string[]): Promise<unknown>;
  /**
   * Listens on a channel, over a separate connection if the client needs one. Once the server has confirmed, resolves
   * to a function that ends the subscription. It may be called again for a channel before an earlier call has resolved;
   * ending the earlier subscription must not end the later one. Without this member, waiters rely on heartbeats alone.
   *
   * @param channel The name of the channel.
   * @param onMessage Called with every message.
   * @param onGap Called whenever listening has resumed and messages may have been missed.
   * @param onEnd Called when this subscription has ended for good, so that a new one begins.
   */
  subscribe?(
    channel: string,
    onMessage: (message: string) => void,
    onGap: () => void,
    onEnd?: () => void,
  ): Promise<() => void | Promise<void>>;
  /** The name of the client's library, for errors and warnings: "npm:ioredis". */
  readonly library?: string;
  /** The connection's error while it is down, such as ECONNREFUSED: for the `cause` of errors. */
  readonly failure?: unknown;
  /** The last error of a separate subscribing connection: for a warning. */
  readonly subscriberFailure?: unknown;
  /**
   * The number of lost connections so far, for a client that sends commands in flight again over the next one. The
   * answer to a second run of a release does not show the effect of the first run.
   */
  readonly losses?: number;
  /**
   * The present connection, or the next one while there is none: a new object for each. `since` is on the clock of
   * `performance.now()`, at the latest when the client may send the commands that waited for the connection. A lease is
   * trusted from then on rather than from the call. Without this member, a connection that is slow to come costs leases
   * time. `heardAt`, on the same clock, is when the server last answered a part of the client's greeting: a command
   * that waits for the rest of the greeting does not wait for a silent server.
   */
  readonly connection?: { readonly since: number; readonly heardAt?: number } | undefined;
  /** Whether the keys live on several nodes, so that one command never has keys of two names. */
  readonly cluster?: boolean;
  /** Whether the client was closed for good, so that no command is retried. */
  readonly closed?: boolean;
  /**
   * Calls `listener` when the client is closed for good.
   *
   * @param listener Called once the connection has closed.
   */
  onClose?(listener: () => void): void;
}

/** A backend as its adapter sees it, which notes failures in it. */
export type OwnBackend = { -readonly [K in keyof Backend]: Backend[K] };

export type Subscribe = NonNullable<Backend["subscribe"]>;

/** The member of a backend that has its own store. */
export const STORE: unique symbol = Symbol("store");

/** The library name of a backend with a store in memory. */
export const IN_MEMORY = "memoryBackend()";

/** Options of the adapters. */
export interface ClientOptions {
  /**
   * Whether waiters are notified over a subscription, for which the adapter opens a second connection. Without it they
   * rely on heartbeats, and a hand-off takes up to a third of the `ttl`. Default: true.
   */
  readonly push?: boolean | undefined;
}

/** Throws for a client, even if it has functions of these names, and for a backend in memory of another copy. */
export function checkBackend(backend: unknown): asserts backend is Backend {
  const { onClose, sendCommand, library } = Object(backend) as Partial<Backend & { sendCommand: unknown }>;
  const hasItsMethods = hasMethods(backend, ["evalsha", "eval"]) && sendCommand === undefined;
  const client = hasItsMethods && onClose !== undefined ? undefined : recognize(backend); // no client has onClose
  const rule = "a Backend made of the client, such as nodeRedis(client) or ioRedis(client)";
  if (!hasItsMethods || client !== undefined) {
    throw new TypeError(`backend must be ${rule}, got ${client ?? quote(backend)}`);
  }
  checkCopy(library !== IN_MEMORY || STORE in (backend as Backend), backend, "backend"); // each copy has its own symbol
}
