/**
 * The interface to a client. Adapters implement it by structure, so no driver is imported. Invariant: a backend never
 * closes a connection that it did not open.
 *
 * @module
 */

import { checkBoolean, checkCopy, checkOptions, must, quote } from "../../internal/check.ts";
import { onceFor } from "../../internal/once.ts";
import { recognize } from "./libraries.ts";

/**
 * The commands of a client that this module uses. Create one with {@linkcode nodeRedis}, {@linkcode ioRedis},
 * {@linkcode bunRedis} or {@linkcode denoRedis}, or write one for another client: two functions are enough.
 */
export interface Backend {
  /**
   * Runs a script by its digest; rejects with a message that begins with NOSCRIPT if the server does not know the
   * script.
   */
  evalsha(sha: string, keys: string[], args: string[]): Promise<unknown>;
  /** Runs a script by its text. */
  eval(script: string, keys: string[], args: string[]): Promise<unknown>;
  /**
   * Listens on a channel, over a separate connection if the client needs one. Once the server has confirmed, resolves
   * to a function that ends the subscription. It may be called again for a channel before an earlier call has resolved;
   * ending the earlier subscription must not end the later one. Without this member, waiters rely on heartbeats alone.
   *
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
   * time. `heardAt`, on the same clock, is when the server last answered a part of the client's greeting: a command that
   * waits for the rest of the greeting does not wait for a silent server.
   */
  readonly connection?: { readonly since: number; readonly heardAt?: number } | undefined;
  /** Whether the keys live on several nodes, so that one command never has keys of two names. */
  readonly cluster?: boolean;
  /** Whether the client was closed for good, so that no command is retried. */
  readonly closed?: boolean;
  /** Calls `listener` when the client is closed for good. */
  onClose?(listener: () => void): void;
}

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

/** Creates an adapter that returns the same backend for the same client and option. */
export function adapter<C extends object>(
  make: (client: C, push: boolean) => Backend,
): (client: C, options?: ClientOptions) => Backend {
  const withPush = onceFor((client: C) => make(client, true));
  const withoutPush = onceFor((client: C) => make(client, false));
  return (client, options) => {
    checkOptions(options);
    const { push = true } = options ?? {};
    checkBoolean(push, "push");
    return push ? withPush(client) : withoutPush(client);
  };
}

export type Subscribe = NonNullable<Backend["subscribe"]>;

/** A client's events. */
export interface Emitter {
  on(event: string, listener: (...args: string[]) => void): unknown;
}

/**
 * Functions to call at an event of a client. The adapter listens once: Bun's client takes one listener of each event, and
 * Node warns of the eleventh, while each prefix has its own subscription.
 */
export class Callbacks<A extends unknown[] = []> extends Set<(...args: A) => void> {
  call(...args: A): void {
    for (const callback of [...this]) callback(...args);
  }
}

/** The connection of a client for commands, and the subscriptions that follow it. */
export class MainConnection {
  /** The present one; another object for each. */
  present: { since: number; heardAt?: number } = { since: -Infinity };
  /** Whether commands may have been sent over the present one. */
  #isUp = true;
  /** To call when the client is closed for good. */
  readonly closed = new Callbacks();
  /** To call when it may lead to another server than before. */
  readonly moved = new Callbacks();

  /** Called before the client sends the commands that have waited, perhaps several times. */
  begun(): void {
    this.#isUp = true;
    this.present.since = performance.now();
  }

  /** Called when a part of the server's answer to the client's greeting has come, perhaps the last one. */
  heard(): void {
    this.begun();
    this.present.heardAt = this.present.since;
  }

  /** Called when the client has lost the present one, or has failed to open the next one. */
  lost(): void {
    if (this.#isUp) this.present = { since: -Infinity };
    this.#isUp = false;
  }

  /** Opens a subscription over a connection of its own, and returns the function that ends it. */
  async follow(open: () => Promise<unknown>, close: () => void, onMoved: () => void): Promise<() => void> {
    const end = () => {
      this.closed.delete(end);
      this.moved.delete(onMoved);
      close();
    };
    this.closed.add(end);
    await open().catch(orEnd(end));
    this.moved.add(onMoved);
    return end;
  }
}

/** Handles the failure of a subscription that is being opened: ends it, and passes the error on. */
export function orEnd(end: () => void): (error: unknown) => never {
  return (error) => {
    end();
    throw error;
  };
}

/** Throws unless the client has these methods: a client of another library would fail only when it is used. */
export function checkClient(client: unknown, methods: readonly string[], library: string, name = "client"): void {
  if (!hasMethods(client, methods)) refuse(client, library, name);
}

/** Throws for a client of another library. */
export function refuse(client: unknown, library: string, name = "client"): never {
  throw new TypeError(`${name} must be a client of ${library}, got ${got(client)}`);
}

/** The library of a client, if it is known, and the remedy. */
function got(client: unknown): string {
  const known = recognize(client);
  return known ? `${known.is}: ${known.remedy}` : quote(client);
}

/** Throws for a client: some have functions of these names with other parameters. */
export function checkBackend(backend: unknown): asserts backend is Backend {
  const { evalsha, eval: evaluate, onClose, sendCommand } = Object(backend) as Partial<
    Backend & { sendCommand: unknown }
  >;
  const isBackend = typeof evalsha === "function" && typeof evaluate === "function" && sendCommand === undefined;
  if (isBackend && (onClose !== undefined || recognize(backend) === undefined)) return checkMemory(backend as Backend);
  const rule = "a Backend made of the client, such as nodeRedis(client) or ioRedis(client)";
  throw new TypeError(`backend must be ${rule}, got ${got(backend)}`);
}

/** Throws for a backend in memory of another copy of the module, whose store has another symbol. */
function checkMemory(backend: Backend): void {
  checkCopy(backend.library !== IN_MEMORY || STORE in backend, backend, "backend");
}

/** Throws if the client cannot subscribe although it should. */
export function checkPush(client: unknown, push: boolean, methods: readonly string[]): void {
  const rule = "be one that can subscribe, which a pool cannot: pass a single client, or { push: false } to do without";
  must(!push || hasMethods(client, methods), "client", rule, client);
}

function hasMethods(client: unknown, methods: readonly string[]): boolean {
  const members = Object(client) as Record<string, unknown>;
  return methods.every((method) => typeof members[method] === "function");
}
