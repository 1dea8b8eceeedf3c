/**
 * The port: all that the Redis part asks of a client. Adapters fill it in by structure, so no driver is imported.
 * Invariant: a backend never closes a connection that it did not open itself.
 *
 * @module
 */

import { checkBoolean, checkOptions, must, option, quote } from "../../internal/check.ts";
import { onceFor } from "../../internal/once.ts";
import { recognize } from "./libraries.ts";

/**
 * The commands that the Redis part uses of a client. Make one with {@linkcode nodeRedis}, {@linkcode ioRedis},
 * {@linkcode bunRedis} or {@linkcode denoRedis}, or write one for another client: two functions are enough.
 */
export interface Backend {
  /** Runs a script that the server knows by its digest; rejects with a message that has NOSCRIPT in front if it does not. */
  evalsha(sha: string, keys: string[], args: string[]): Promise<unknown>;
  /** Runs a script by its text. */
  eval(script: string, keys: string[], args: string[]): Promise<unknown>;
  /**
   * Listens on a channel, over a connection of its own where the client needs that. Resolves once the server has
   * confirmed, to a function that ends it. It may be called again for a channel before an earlier call has resolved; the
   * end of the earlier one must not end the later one. Without this member waiters find out by heartbeats alone.
   *
   * @param onMessage Called with every message.
   * @param onGap Called whenever messages may have been missed and listening goes on again.
   * @param onLost Called whenever messages stop: with true if this subscription has ended for good, so that another one
   * is begun; else they come again after `onGap`. Without it, waiters find out by their heartbeats until then.
   */
  subscribe?(
    channel: string,
    onMessage: (message: string) => void,
    onGap: () => void,
    onLost?: (forGood?: boolean) => void,
  ): Promise<() => void | Promise<void>>;
  /** The name of the client's library, for errors and warnings: "npm:ioredis". */
  readonly library?: string;
  /** The error of the connection while there is none, such as ECONNREFUSED: for the `cause` of errors. */
  readonly failure?: unknown;
  /** The last error of the connection that subscribes, where that is another one: for a warning. */
  readonly subscriberFailure?: unknown;
  /**
   * How many connections were lost so far, for a client that sends a command in flight again over the next one: the
   * answer to the second run of a release does not show what the first one did.
   */
  readonly losses?: number;
  /** Whether the keys live on several nodes: one command then never names keys of two names. */
  readonly cluster?: boolean;
  /** Whether the client was closed for good: nothing is tried again then. */
  readonly closed?: boolean;
  /** Calls `listener` when the client is closed for good. */
  onClose?(listener: () => void): void;
}

/** The member of a backend that brings a store of its own. */
export const STORE: unique symbol = Symbol("store");

/** The library of a backend that brings a store in memory. */
export const IN_MEMORY = "memoryBackend()";

/** Options of the adapters. */
export interface ClientOptions {
  /**
   * Whether waiters are notified over a subscription, for which the adapter opens a second connection. Without it they
   * find out by heartbeats: a hand-off takes up to a third of the `ttl`. Default: true.
   */
  readonly push?: boolean | undefined;
}

/** Makes an adapter that returns the same backend for the same client and option. */
export function adapter<C extends object>(
  make: (client: C, push: boolean) => Backend,
): (client: C, options?: ClientOptions) => Backend {
  const withPush = onceFor((client: C) => make(client, true));
  const withoutPush = onceFor((client: C) => make(client, false));
  return (client, options) => {
    checkOptions(options);
    const push = option(options, "push", true);
    checkBoolean(push, "push");
    return push ? withPush(client) : withoutPush(client);
  };
}

export type Subscribe = NonNullable<Backend["subscribe"]>;

/**
 * The same function, which adds listeners to the client's events: Node warns of a leak above a limit, by default 10, and each
 * prefix has a subscription of its own.
 */
export function listening(client: object, subscribe: Subscribe): Subscribe {
  const emitter = client as { getMaxListeners?(): number; setMaxListeners?(limit: number): unknown };
  const raise = (by: number) => {
    const limit = emitter.getMaxListeners?.() ?? 0; // 0 means none
    if (limit > 0) emitter.setMaxListeners?.(limit + by);
  };
  return async (...args) => {
    raise(1);
    try {
      const stop = await subscribe(...args);
      return async () => {
        raise(-1);
        await stop();
      };
    } catch (error) {
      raise(-1);
      throw error;
    }
  };
}

/** Throws unless the client has these methods: a client of another library would only fail once it is used. */
export function checkClient(client: unknown, methods: readonly string[], library: string, name = "client"): void {
  if (!hasMethods(client, methods)) refuse(client, library, name);
}

/** Throws: it is no client of this library. */
export function refuse(client: unknown, library: string, name = "client"): never {
  throw new TypeError(`${name} must be a client of ${library}, got ${got(client)}`);
}

/** The library of a client, if it is known, and the remedy. */
function got(client: unknown): string {
  const known = recognize(client);
  return known ? `${known.is}: ${known.remedy}` : quote(client);
}

/** Throws for a client: some have these functions, too, but with other arguments. */
export function checkBackend(backend: unknown): asserts backend is Backend {
  const { evalsha, eval: evaluate, onClose, sendCommand } = Object(backend) as Partial<
    Backend & { sendCommand: unknown }
  >;
  const isBackend = typeof evalsha === "function" && typeof evaluate === "function" && sendCommand === undefined;
  if (isBackend && (onClose !== undefined || recognize(backend) === undefined)) return checkCopy(backend as Backend);
  const rule = "a Backend made of the client, such as nodeRedis(client) or ioRedis(client)";
  throw new TypeError(`backend must be ${rule}, got ${got(backend)}`);
}

/** The store of a backend in memory has a name that no other copy of the module knows. */
function checkCopy(backend: Backend): void {
  const isForeign = backend.library === IN_MEMORY && !(STORE in backend);
  must(!isForeign, "backend", "be of the same copy of this module: there are two copies", backend);
}

/** Throws if the client cannot subscribe although it should. */
export function checkPush(client: unknown, push: boolean, methods: readonly string[]): void {
  const rule = "be one that can subscribe, which a pool cannot: pass a single client, or { push: false } to do without";
  must(!push || hasMethods(client, methods), "client", rule, client);
}

function hasMethods(client: unknown, methods: readonly string[]): boolean {
  const members = Object(client) as Record<string, unknown>;
  try {
    return methods.every((method) => typeof members[method] === "function");
  } catch {
    return false; // a proxy that was revoked
  }
}
