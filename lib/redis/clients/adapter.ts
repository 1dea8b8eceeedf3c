/**
 * What makes a function an adapter: it refuses other clients, and returns one backend for each client.
 *
 * @module
 */
import { checkBoolean, checkOptions, must, quote } from "../../internal/check.ts";
import { onceFor } from "../../internal/once.ts";
import type { Backend, ClientOptions } from "./backend.ts";
import { hasMethods, recognize } from "./libraries.ts";

/** Creates an adapter that returns the same backend for the same client and option. */
export function adapter<C extends object>(
  make: (client: C, usesPush: boolean) => Backend,
): (client: C, options?: ClientOptions) => Backend {
  const withPush = onceFor((client: C) => make(client, true));
  const withoutPush = onceFor((client: C) => make(client, false));
  return (client, options) => {
    const { push = true } = checkOptions(options, "push");
    checkBoolean(push, "push");
    return push ? withPush(client) : withoutPush(client);
  };
}

/** Throws unless the client has these methods: a client of another library would fail only when it is used. */
export function checkClient(client: unknown, methods: readonly string[], library: string, name = "client"): void {
  if (!hasMethods(client, methods)) refuse(client, library, name);
}

/** Throws for a client of another library. */
export function refuse(client: unknown, library: string, name = "client"): never {
  throw new TypeError(`${name} must be a client of ${library}, got ${recognize(client) ?? quote(client)}`);
}

/** Throws if the client cannot subscribe although it should. */
export function checkPush(client: unknown, usesPush: boolean, methods: readonly string[]): void {
  const rule = "be one that can subscribe, which a pool cannot: pass a single client, or { push: false } to do without";
  must(!usesPush || hasMethods(client, methods), "client", rule, client);
}
