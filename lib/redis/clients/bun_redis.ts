/**
 * The adapter for Bun's own RedisClient.
 *
 * @module
 */
import { onceFor } from "../internal/once.ts";
import { type Backend, checkClient } from "./backend.ts";

/** What `bunRedis` uses of a client. */
export interface BunRedisClient {
  /** Runs any command. */
  send(command: string, args: string[]): Promise<unknown>;
  /** A second connection with the same settings. */
  duplicate(): Promise<BunRedisClient>;
  /** Listens on a channel. */
  subscribe(channel: string, listener: (message: string, channel: string) => void): Promise<unknown>;
  /** Ends the connection for good. */
  close(): void;
  /** Whether there is a connection now. */
  readonly connected: boolean;
  /** Called after each connection that was made. */
  onconnect: unknown;
  /** Called when it was closed for good. */
  onclose: unknown;
}

type Handler = ((this: BunRedisClient, error?: unknown) => void) | null | undefined;

/**
 * Makes a backend of Bun's RedisClient. The same client gives the same backend. It sets the client's `onclose` and
 * calls the one that was there before.
 *
 * @param client Of `new RedisClient(url)` or `Bun.redis`, closed by you.
 *
 * @example
 * ```ts
 * import { bunRedis, type BunRedisClient, RedisLock } from "@interlock/interlock/redis";
 *
 * // With `import { redis } from "bun"`: ordersOf(redis)
 * export const ordersOf = (client: BunRedisClient) => new RedisLock(bunRedis(client), "orders");
 * ```
 */
export function bunRedis(client: BunRedisClient): Backend {
  return backendOf(client);
}

const backendOf = onceFor((client: BunRedisClient): Backend => {
  checkClient(client, ["send", "duplicate"], "Bun (RedisClient)");
  let closed = false;
  const closing = new Set<() => void>();
  // Bun does not tell that a connection is down: it is looked at with each command, so with each heartbeat.
  const checks = new Set<() => void>();
  const before = client.onclose as Handler;
  // There is no other way to hear of it, and the connection that we open would keep the process alive.
  client.onclose = function (this: BunRedisClient, error?: unknown) {
    closed = true;
    for (const listener of closing) listener();
    before?.call(this, error);
  };
  const run = (command: string, what: string, keys: string[], args: string[]) => {
    for (const check of checks) check();
    return client.send(command, [what, String(keys.length), ...keys, ...args]);
  };
  return {
    evalsha: (sha, keys, args) => run("EVALSHA", sha, keys, args),
    eval: (script, keys, args) => run("EVAL", script, keys, args),
    subscribe: (...listener) => subscribe(client, closing, checks, ...listener),
    get closed() {
      return closed && !client.connected;
    },
    onClose: (listener) => void closing.add(listener),
  };
});

async function subscribe(
  client: BunRedisClient,
  closing: Set<() => void>,
  checks: Set<() => void>,
  channel: string,
  onMessage: (message: string) => void,
  onGap: () => void,
  onLost?: (forGood: boolean) => void,
): Promise<() => void> {
  const own = await client.duplicate();
  // Each reconnection needs a subscription of its own; should both last, a second message finds nobody.
  const listen = () => own.subscribe(channel, (message) => onMessage(message));
  const check = () => {
    if (!own.connected) onLost?.(false);
  };
  const end = () => {
    closing.delete(end);
    checks.delete(check);
    own.onconnect = own.onclose = null;
    own.close();
  };
  closing.add(end);
  try {
    await listen();
  } catch (error) {
    end();
    throw error;
  }
  checks.add(check);
  own.onconnect = () => void listen().then(onGap, () => {});
  own.onclose = () => onLost?.(true); // it has given up
  return end;
}
